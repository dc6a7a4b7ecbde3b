import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { OverlayProvider } from "../links/overlay";
import { type Editor, EditorContext } from "./open";

// Nobody needs these to look at a list.
const LinkEditor = lazy(() => import("./LinkEditor"));
const QrDialog = lazy(() => import("./QrDialog"));

type Open =
  | { what: "create"; destination?: string }
  | { what: "edit" | "duplicate" | "qr"; id: string }
  | null;

/** Holds what is open over the pages: the editor or a QR code. */
export function EditorHost({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState<Open>(null);
  const editor = useMemo<Editor>(
    () => ({
      create: (destination) => setOpen({ what: "create", ...(destination !== undefined && { destination }) }),
      edit: (id) => setOpen({ what: "edit", id }),
      duplicate: (id) => setOpen({ what: "duplicate", id }),
      qr: (id) => setOpen({ what: "qr", id }),
    }),
    [],
  );
  const close = () => setOpen(null);
  return (
    <OverlayProvider>
      <EditorContext value={editor}>
        {children}
        {open && (
          <Suspense>
            {open.what === "qr" ? (
              <QrDialog id={open.id} onClose={close} />
            ) : (
              <LinkEditor
                key={open.what === "create" ? "new" : `${open.what} ${open.id}`}
                {...(open.what === "create"
                  ? { ...(open.destination !== undefined && { destination: open.destination }) }
                  : { id: open.id, duplicate: open.what === "duplicate" })}
                onClose={close}
              />
            )}
          </Suspense>
        )}
      </EditorContext>
    </OverlayProvider>
  );
}
