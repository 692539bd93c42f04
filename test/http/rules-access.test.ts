/** Who may evaluate the rules of an orb. */

import type { NatsConnection } from "nats";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HandlerCredential } from "../../shared/handlers/contract/types.ts";
import { call, type SignedIn, user } from "../support/auth.ts";
import type { TestPlatform } from "../support/platform.ts";
import { entryOf, stage } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let ann: SignedIn;
let boss: SignedIn;

const schema = (id: string, access?: object) => ({
  id,
  ...(access === undefined ? {} : { access }),
  fields: [{ name: "rule", type: "json" }],
});

beforeAll(async () => {
  ({ platform, client, admin } = await stage());
  for (const name of ["pricing.quote", "pricing.other"]) {
    // Passes the credential on, so that the test can act as the handler.
    client.subscribe(`svc.${name}`, {
      callback: (_error, message) => {
        const { credential } = message.json<{ credential?: HandlerCredential }>();
        message.respond(JSON.stringify(credential ?? null));
      },
    });
    const entry = entryOf(name, { acts: ["rules:evaluate"] });
    await client.request(`$KV.handlers.${name}`, JSON.stringify(entry));
  }
  const document = {
    id: "ruled",
    uses: [
      { service: "access", handlers: ["passkey", "invitations"] },
      { service: "rules", handlers: ["evaluate"] },
      { service: "pricing", handlers: ["quote", "other"], acts: ["rules:evaluate"] },
    ],
    modules: [
      {
        id: "decisions",
        type: "RULES",
        schemas: [
          schema("open"),
          schema("closed", { read: ["admin", "handler:pricing.quote"] }),
          schema("handlers", { read: ["handler:pricing.quote"] }),
        ],
      },
    ],
  };
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body: document });
  expect(made.status).toBe(201);
  ann = await user(platform, "ruled");
  boss = await user(platform, "ruled", "admin");
});
afterAll(async () => {
  await client.close();
});

async function evaluate(by: { token: string } | undefined, schemaId?: string): Promise<[number, string]> {
  const { status, body } = await call(platform, "POST", "/api/ruled/call/evaluate", {
    ...(by === undefined ? {} : { token: by.token }),
    body: { facts: {}, ...(schemaId === undefined ? {} : { schema: schemaId }) },
  });
  return [status, status === 200 ? "" : body.code];
}
const handler = async (name: string, by?: { token: string }): Promise<HandlerCredential> => {
  const given = await call(platform, "POST", `/api/ruled/call/${name}`, { ...by, body: null });
  return given.body as HandlerCredential;
};

test("every account may evaluate rules whose schema says nothing", async () => {
  expect(await evaluate(undefined, "open")).toEqual([401, "authentication_required"]);
  expect(await evaluate(ann, "open")).toEqual([200, ""]);
  expect(await evaluate(await handler("other", ann), "open")).toEqual([200, ""]);
  expect(await evaluate(await handler("other"), "open")).toEqual([401, "authentication_required"]);
});

test("only the callers that access.read names may evaluate the rules of a schema", async () => {
  expect(await evaluate(ann, "closed")).toEqual([403, "forbidden"]);
  expect(await evaluate(boss, "closed")).toEqual([200, ""]);
  expect(await evaluate(await handler("other", ann), "closed")).toEqual([403, "forbidden"]);
  for (const by of [ann, undefined])
    expect(await evaluate(await handler("quote", by), "closed")).toEqual([200, ""]);
});

test("rules for handlers only are closed to all accounts, and a call for all schemas needs the right for each", async () => {
  for (const by of [ann, boss, { token: admin }])
    expect(await evaluate(by, "handlers")).toEqual([403, "handlers_only"]);
  expect(await evaluate(await handler("quote", ann), "handlers")).toEqual([200, ""]);
  expect(await evaluate(boss)).toEqual([403, "handlers_only"]);
  expect(await evaluate(await handler("quote", ann))).toEqual([200, ""]);
});
