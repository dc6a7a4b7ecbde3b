import { texts } from "../texts";

/** The end of a page. The build writes the file it links, see licences.ts. */
export function Footer() {
  return (
    <footer className="mx-auto flex w-full max-w-6xl items-center justify-center gap-4 px-4 pb-4 text-quiet text-xs sm:px-6">
      <a href="/docs" className="rounded-md py-2 hover:text-text">
        {texts.nav.apiDocs}
      </a>
      <a href="/third-party-licences.txt" className="rounded-md py-2 hover:text-text">
        {texts.licences}
      </a>
    </footer>
  );
}
