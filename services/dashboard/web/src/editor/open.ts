import { createContext, useContext } from "react";

/** What opens the editor, from anywhere. */
export interface Editor {
  create: (destination?: string) => void;
  edit: (id: string) => void;
  duplicate: (id: string) => void;
  qr: (id: string) => void;
}

const nothing = () => {};

export const EditorContext = createContext<Editor>({
  create: nothing,
  edit: nothing,
  duplicate: nothing,
  qr: nothing,
});

export function useEditor(): Editor {
  return useContext(EditorContext);
}
