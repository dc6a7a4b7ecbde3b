import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "./client";
import type { components } from "./schema";
import type { Page } from "./types";

type Schemas = components["schemas"];

export type Webhook = Schemas["WebhookView"];
export type WebhookInput = Schemas["NewWebhookBody"];
export type WebhookEdit = Schemas["EditWebhookBody"];
export type WebhookSecret = Schemas["SecretView"];
export type Delivery = Schemas["DeliveryView"];
export type DeliveryDetail = Schemas["DeliveryDetail"];

export const eventTypes = [
  "link.created",
  "link.updated",
  "link.deleted",
  "link.expired",
  "link.threshold_reached",
  "clicks.summary",
] as const;

const DELIVERIES_PER_PAGE = 25;
const REFRESH_MS = 5_000;

const at = (id: string) => `/v1/webhooks/${encodeURIComponent(id)}`;

export const webhooksQuery = queryOptions({
  queryKey: ["webhooks"],
  queryFn: async ({ signal }) => (await call<Page<Webhook>>("GET", "/v1/webhooks", { signal })).data,
});

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ["webhooks", id],
    queryFn: ({ signal }) => call<Webhook>("GET", at(id), { signal }),
  });

export const createWebhook = (body: WebhookInput) => call<WebhookSecret>("POST", "/v1/webhooks", { body });
export const editWebhook = (id: string, body: WebhookEdit) => call<Webhook>("PATCH", at(id), { body });
export const deleteWebhook = (id: string) => call<void>("DELETE", at(id));
export const rotateSecret = (id: string) =>
  call<WebhookSecret>("POST", `${at(id)}/rotate-secret`, { body: {} });
export const testWebhook = (id: string) => call<{ event_id: string }>("POST", `${at(id)}/test`);
export const replayDelivery = (id: string, delivery: string) =>
  call<unknown>("POST", `${at(id)}/deliveries/${encodeURIComponent(delivery)}/replay`);
export const replayFailed = (id: string, from: Date, to: Date) =>
  call<Schemas["ReplayedOutputBody"]>("POST", `${at(id)}/replay`, {
    body: { from: from.toISOString(), to: to.toISOString(), state: "failed" },
  });

export const deliveriesQuery = (id: string, state: Delivery["state"] | undefined) =>
  infiniteQueryOptions({
    queryKey: ["webhooks", id, "deliveries", state],
    queryFn: ({ pageParam, signal }) =>
      call<Page<Delivery>>("GET", `${at(id)}/deliveries`, {
        query: { limit: DELIVERIES_PER_PAGE, cursor: pageParam, state },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: REFRESH_MS,
  });

export const deliveryQuery = (id: string, delivery: string) =>
  queryOptions({
    queryKey: ["webhooks", id, "delivery", delivery],
    queryFn: ({ signal }) =>
      call<DeliveryDetail>("GET", `${at(id)}/deliveries/${encodeURIComponent(delivery)}`, { signal }),
  });
