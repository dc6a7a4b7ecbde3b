import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";
import type {
  ApiKey,
  ApiKeyEdit,
  ApiKeyInput,
  Domain,
  DomainEdit,
  DomainInput,
  Member,
  MemberInput,
  NewApiKey,
  NewMember,
  Page,
} from "./types";

const PAGE = 100;
/** A list of settings that is longer than this is shown cut, with a word. */
const MAX_PAGES = 5;

/** Reads all pages of a list that is short by its nature. */
async function all<T>(path: string, signal: AbortSignal): Promise<T[]> {
  const out: T[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer: Page<T> = await call("GET", path, { query: { limit: PAGE, cursor }, signal });
    out.push(...answer.data);
    if (!answer.next_cursor) {
      break;
    }
    cursor = answer.next_cursor;
  }
  return out;
}

const at = (kind: string, id: string) => `/v1/${kind}/${encodeURIComponent(id)}`;

export const domainsQuery = queryOptions({
  queryKey: ["domains"],
  queryFn: ({ signal }) => all<Domain>("/v1/domains", signal),
  staleTime: 60_000,
});
export const createDomain = (body: DomainInput) => call<Domain>("POST", "/v1/domains", { body });
export const editDomain = (id: string, body: DomainEdit) =>
  call<Domain>("PATCH", at("domains", id), { body });
export const deleteDomain = (id: string) => call<void>("DELETE", at("domains", id));

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: ({ signal }) => all<ApiKey>("/v1/keys", signal),
});
export const createKey = (body: ApiKeyInput) => call<NewApiKey>("POST", "/v1/keys", { body });
export const editKey = (id: string, body: ApiKeyEdit) => call<ApiKey>("PATCH", at("keys", id), { body });
export const revokeKey = (id: string) => call<void>("DELETE", at("keys", id));

export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: ({ signal }) => all<Member>("/v1/users", signal),
});
export const addMember = (body: MemberInput) => call<NewMember>("POST", "/v1/users", { body });
export const removeMember = (id: string) => call<void>("DELETE", at("users", id));
