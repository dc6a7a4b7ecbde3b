import { useQuery } from "@tanstack/react-query";
import { LoaderCircle } from "lucide-react";
import { useId } from "react";
import { prewarmLink } from "../api/links";
import { milliseconds } from "../format";
import { texts } from "../texts";

/**
 * Asks every edge of every region to hold the newest state and says how long that
 * took. A pre-warm is answered when the edges have confirmed, so this is measured,
 * not hoped.
 */
export function LiveEverywhere({ id }: { id: string }) {
  const warm = useQuery({
    queryKey: ["live-everywhere", id, useId()],
    queryFn: () => prewarmLink(id),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (warm.isError) {
    return <span>{texts.delivery.saved}</span>;
  }
  if (!warm.data) {
    return (
      <span className="flex items-center gap-2">
        <LoaderCircle size={15} aria-hidden className="animate-spin text-quiet" />
        {texts.delivery.spreading}
      </span>
    );
  }
  const regions = warm.data.regions ?? [];
  const all = regions.every((r) => r.edges_warmed === r.edges_live && r.l2 === "done");
  return (
    <span data-live-everywhere={all || undefined}>
      <span className="font-medium">{all ? texts.delivery.live : texts.delivery.partly}</span>
      <span className="block text-quiet text-xs tabular-nums">
        {regions
          .map((r) =>
            texts.delivery.region(r.region, milliseconds(r.duration_ms), r.edges_warmed, r.edges_live),
          )
          .join(" · ")}
      </span>
    </span>
  );
}
