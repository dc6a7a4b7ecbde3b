import { texts } from "../texts";

/** The end of a page. The build writes the file it links, see licences.ts. */
export function Footer() {
  return (
    <footer className="mx-auto w-full max-w-5xl px-4 pb-4 text-center text-quiet text-xs sm:px-6">
      <a href="/third-party-licences.txt" className="inline-block rounded-md py-2 hover:text-text">
        {texts.licences}
      </a>
    </footer>
  );
}
