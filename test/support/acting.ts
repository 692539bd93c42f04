/** Test data: an orb, and a service whose handlers act on behalf of their callers. */
import type { NatsConnection } from "nats";
import { ACTS, type Act } from "../../shared/definition/document/acts.ts";
import { type KitCall, type Service, serve } from "../../shared/handlers/contract/kit.ts";
import type { HandlerCredential } from "../../shared/handlers/contract/types.ts";
import { call, type SignedIn } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";
import { headers } from "./services.ts";

const PRICE = 49.5;
const field = (name: string, type: string, more: object = {}) => ({ name, type, ...more });

export const EVERY_ACT: readonly Act[] = ACTS;

/** Returns the document of an orb in which only the handler `shop.order` may record orders. */
export const shopDocument = (id: string, acts: readonly Act[] = EVERY_ACT) => ({
  id,
  uses: [
    { service: "access", handlers: ["passkey", "invitations"] },
    { service: "shop", handlers: ["order", "probe"], acts },
    { service: "transactions", handlers: ["record", "list"] },
    { service: "rules", handlers: ["evaluate"] },
    { service: "settings", handlers: ["get", "set"] },
  ],
  modules: [
    {
      id: "ledger",
      type: "TRANSACTIONS",
      schemas: [
        {
          id: "order",
          access: { create: ["handler:shop.order"] },
          fields: [field("count", "integer"), field("total", "number")],
        },
      ],
    },
    {
      id: "content",
      type: "CONTENT",
      schemas: [
        {
          id: "note",
          access: { read: "own", write: "user" },
          fields: [field("text", "string"), field("code", "string", { sensitive: true })],
        },
        {
          id: "stamp",
          access: { read: "public", create: ["handler:shop.probe"], publish: ["handler:shop.probe"] },
          fields: [field("text", "string")],
        },
      ],
    },
    {
      id: "pricing",
      type: "RULES",
      schemas: [{ id: "rule", fields: [field("rule", "json")] }],
    },
    { id: "choices", type: "SETTINGS", schemas: [{ id: "choice", fields: [field("color", "string")] }] },
  ],
});

export async function publishShop(
  platform: TestPlatform,
  admin: string,
  id: string,
  acts: readonly Act[] = EVERY_ACT,
): Promise<void> {
  const body = shopDocument(id, acts);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
}

/**
 * Starts the service `shop`. Its handler `order` records an order at the shop's price. Its handler `probe` returns to
 * the test the credential that the platform gave it.
 */
export function serveShop(connection: NatsConnection): Promise<Service> {
  const input = { type: "object", required: ["count"], properties: { count: { type: "integer" } } } as const;
  return serve({
    connection,
    headers,
    service: "shop",
    handlers: {
      order: {
        description: "Orders at the price of the shop.",
        auth: "None",
        acts: ["transactions:record"],
        input,
        handle: ({ count }: { count: number }, { api, idempotencyKey: key }: KitCall) => {
          const values = { count, total: count * PRICE };
          return api("POST", "/call/record", { values, ...(key === undefined ? {} : { key }) });
        },
      },
      probe: {
        description: "Returns its credential, which a real service must never do.",
        auth: "None",
        acts: [...EVERY_ACT],
        timeoutMs: 10_000,
        handle: (_: unknown, { credential }: KitCall) => credential ?? null,
      },
    },
  });
}

/** Calls the handler `probe` and returns the credential that the platform gave to the handler. */
export async function credentialOf(
  platform: TestPlatform,
  orb: string,
  by?: SignedIn | { token: string },
): Promise<HandlerCredential> {
  const { status, body } = await call(platform, "POST", `/api/${orb}/probe`, {
    body: {},
    ...(by === undefined ? {} : { token: by.token }),
  });
  if (status !== 200 || body === null) throw new Error(JSON.stringify(body));
  return body as HandlerCredential;
}
