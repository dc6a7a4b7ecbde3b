import { useQuery } from "@tanstack/react-query";
import { linkQuery } from "../api/links";
import { decoded, readable } from "../format";
import { texts } from "../texts";

const FRESH_MS = 300_000;

/** A link by its id: its address and title, once they are known. */
export function LinkName({ id }: { id: string }) {
  const link = useQuery({ ...linkQuery(id), staleTime: FRESH_MS, retry: false });
  if (link.isError) {
    return <span className="text-quiet">{texts.links.gone}</span>;
  }
  if (!link.data) {
    return <span className="text-quiet">…</span>;
  }
  return (
    <>
      {readable(decoded(link.data.short_url))}
      {link.data.title && <span className="ml-2 text-quiet">{link.data.title}</span>}
    </>
  );
}
