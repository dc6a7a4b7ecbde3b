import { hostOf } from "../format";

/** Stands in for the destination's icon, which only a foreign host could give us. */
export function Tile({ destination }: { destination: string }) {
  const host = hostOf(destination);
  return (
    <span
      aria-hidden
      className="grid size-9 shrink-0 place-content-center rounded-full border border-line bg-ground font-semibold text-quiet uppercase"
    >
      {host.charAt(0) || "?"}
    </span>
  );
}
