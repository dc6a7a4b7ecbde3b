import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sessionQuery } from "../api/session";
import { noUtm, type Utm, utmFields } from "./form";

// Campaign parameters that are used again and again. They are kept in this browser,
// for this workspace: there is no call that would keep them for the team.

export interface Template {
  name: string;
  utm: Utm;
}

const MAX = 50;

/** Reads what was stored, which an older version or somebody else may have written. */
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
  if (typeof name !== "string" || !utm || typeof utm !== "object") {
    return [];
  }
  const fields = utmFields.map((field) => [field, typeof utm[field] === "string" ? utm[field] : ""]);
  return [{ name, utm: { ...noUtm, ...Object.fromEntries(fields) } }];
}

export function useTemplates() {
  const { data: who } = useQuery(sessionQuery);
  const key = `utm-templates:${who?.workspace_id ?? ""}`;
  const [templates, setTemplates] = useState(() => load(key));
  const store = (next: Template[]) => {
    setTemplates(next);
    try {
      localStorage.setItem(key, JSON.stringify(next));
    } catch {
      // Storage is switched off: they last until the page is closed.
    }
  };
  return {
    templates,
    /** Adds a template, or replaces the one of that name. */
    save: (template: Template) =>
      store([template, ...templates.filter((t) => t.name !== template.name)].slice(0, MAX)),
    remove: (name: string) => store(templates.filter((t) => t.name !== name)),
  };
}

function load(key: string): Template[] {
  try {
    return readTemplates(localStorage.getItem(key));
  } catch {
    return [];
  }
}
