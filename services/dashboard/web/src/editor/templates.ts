import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Problem } from "../api/problem";
import { sessionQuery } from "../api/session";
import { createTemplate, deleteTemplate, editTemplate, templatesQuery } from "../api/templates";
import type { UtmTemplate } from "../api/types";
import { noUtm, type Utm, utmFields } from "./form";

// Campaign parameters that are used again and again. The workspace keeps them. An earlier
// version kept them in the browser: those are offered, once.

export interface Template {
  name: string;
  utm: Utm;
}

const MAX = 50;

/** What a template says, with every field. */
export const filledUtm = (utm: Partial<Utm>): Utm => ({ ...noUtm, ...utm });

/** The opposite, as the API wants it: what is empty is not sent, or cleared. */
export function utmBody(utm: Utm): Partial<Utm> {
  return Object.fromEntries(utmFields.flatMap((f) => (utm[f].trim() ? [[f, utm[f].trim()]] : [])));
}

export function utmPatch(utm: Utm): Record<string, string | null> {
  return Object.fromEntries(utmFields.map((f) => [f, utm[f].trim() || null]));
}

/** Reads what was stored in the browser, which an older version or somebody else may have written. */
export function readTemplates(text: string | null): Template[] {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(list) ? list.flatMap(readTemplate).slice(0, MAX) : [];
  } catch {
    return [];
  }
}

function readTemplate(value: unknown): Template[] {
  const { name, utm } = (value ?? {}) as { name?: unknown; utm?: Record<string, unknown> };
  if (typeof name !== "string" || !name.trim() || !utm || typeof utm !== "object") {
    return [];
  }
  const fields = utmFields.map((field) => [field, typeof utm[field] === "string" ? utm[field] : ""]);
  return [{ name: name.trim(), utm: { ...noUtm, ...Object.fromEntries(fields) } }];
}

export function useTemplates() {
  const client = useQueryClient();
  const templates = useQuery(templatesQuery);
  const refresh = () => client.invalidateQueries({ queryKey: templatesQuery.queryKey });
  const save = useMutation({
    /** Adds a template, or replaces the one of that name. */
    mutationFn: ({ name, utm }: Template): Promise<UtmTemplate> => {
      const there = templates.data?.find((t) => t.name === name);
      return there
        ? editTemplate(there.id, { utm: utmPatch(utm) })
        : createTemplate({ name, utm: utmBody(utm) });
    },
    onSuccess: refresh,
  });
  const remove = useMutation({ mutationFn: deleteTemplate, onSuccess: refresh });
  return { templates: templates.data ?? [], save, remove, browser: useBrowserTemplates(refresh) };
}

/** What an earlier version left in this browser, until it is moved or dropped. */
function useBrowserTemplates(onMoved: () => Promise<void>) {
  const { data: who } = useQuery(sessionQuery);
  const key = `utm-templates:${who?.workspace_id ?? ""}`;
  const [kept, setKept] = useState(() => load(key));
  const drop = () => {
    forget(key);
    setKept([]);
  };
  const move = useMutation({
    mutationFn: () => moveTemplates(kept),
    onSuccess: drop,
    onSettled: onMoved,
  });
  return { kept, move, drop };
}

/** Templates that the workspace has by that name stay as they are there. */
export async function moveTemplates(kept: Template[]): Promise<void> {
  for (const { name, utm } of kept) {
    const body = utmBody(utm);
    if (Object.keys(body).length === 0) {
      continue;
    }
    try {
      await createTemplate({ name, utm: body });
    } catch (error) {
      if (!(error instanceof Problem && error.code === "name_taken")) {
        throw error;
      }
    }
  }
}

function load(key: string): Template[] {
  try {
    return readTemplates(localStorage.getItem(key));
  } catch {
    return []; // Storage is switched off.
  }
}

function forget(key: string) {
  try {
    localStorage.removeItem(key);
  } catch {
    // Storage is switched off: nothing is there.
  }
}
