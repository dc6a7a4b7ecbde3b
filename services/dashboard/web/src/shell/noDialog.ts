// Stands in for @radix-ui/react-dialog, see vite.config.ts. cmdk imports it for a
// dialog of its own, which the palette does not use: the browser's serves it better.
// It would bring style elements that the content policy forbids, and a package that
// comes without the text of its licence.

export const Root = "div";
export const Portal = "div";
export const Overlay = "div";
export const Content = "div";
