import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";
import type { Page, UtmTemplate, UtmTemplateEdit, UtmTemplateInput } from "./types";

const PAGE = 100;

const at = (id: string) => `/v1/utm-templates/${encodeURIComponent(id)}`;

/** All campaign templates of the workspace, by name: it has 200 at most. */
export const templatesQuery = queryOptions({
  queryKey: ["utm-templates"],
  queryFn: async ({ signal }) => {
    const out: UtmTemplate[] = [];
    let cursor: string | undefined;
    do {
      const page: Page<UtmTemplate> = await call("GET", "/v1/utm-templates", {
        query: { limit: PAGE, cursor },
        signal,
      });
      out.push(...page.data);
      cursor = page.next_cursor ?? undefined;
    } while (cursor);
    return out.sort((a, b) => a.name.localeCompare(b.name));
  },
  staleTime: 60_000,
});

export const createTemplate = (body: UtmTemplateInput) =>
  call<UtmTemplate>("POST", "/v1/utm-templates", { body });
export const editTemplate = (id: string, body: UtmTemplateEdit) =>
  call<UtmTemplate>("PATCH", at(id), { body });
export const deleteTemplate = (id: string) => call<void>("DELETE", at(id));
