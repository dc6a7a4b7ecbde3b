import { texts } from "../texts";

/** The licence of the place data asks for this wherever places are shown. */
export function PlaceSource() {
  return (
    <a
      href="https://db-ip.com"
      target="_blank"
      rel="noreferrer"
      className="rounded text-quiet text-xs underline decoration-line-strong underline-offset-3 hover:text-text"
    >
      {texts.overview.placeSource}
    </a>
  );
}
