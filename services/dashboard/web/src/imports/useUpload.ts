import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { type ImportOptions, importsKey, uploadImport } from "../api/imports";
import type { ImportJob } from "../api/types";

/** A file and what is said about it. Only the page has it: a reload forgets it. */
export interface Chosen {
  file: File | null;
  options: ImportOptions;
}

export const noFile: Chosen = { file: null, options: { format: "auto", on_conflict: "skip", domain: "" } };

/** Sends the file, to look at what would become of it or to make its links. */
export function useUpload({ file, options }: Chosen, onJob: (id: string) => void) {
  const client = useQueryClient();
  const [share, setShare] = useState(0);
  const abort = useRef<AbortController>(null);
  const upload = useMutation({
    mutationFn: (what: "look" | "make"): Promise<ImportJob> => {
      if (!file) {
        return Promise.reject(new Error("no file"));
      }
      setShare(0);
      abort.current = new AbortController();
      return uploadImport(file, { ...options, dry_run: what === "look" }, setShare, abort.current.signal);
    },
    onSuccess: (job) => {
      void client.invalidateQueries({ queryKey: importsKey });
      onJob(job.id);
    },
  });
  const aborted = upload.error instanceof DOMException;
  return {
    send: upload.mutate,
    sending: upload.isPending,
    share,
    error: aborted ? null : upload.error,
    stop: () => abort.current?.abort(),
  };
}
