/** HTTP handlers of services that act for their callers. */
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ACTS } from "../../shared/definition/document/acts.ts";
import type { HttpRequestMessage } from "../../shared/handlers/contract/http-messages.ts";
import { call, type SignedIn } from "../support/auth.ts";
import type { TestPlatform } from "../support/platform.ts";
import { registrar, stage } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let ann: SignedIn;
const requests: HttpRequestMessage[] = [];

const { register } = registrar(() => ({ platform, client, admin }));

beforeAll(async () => {
  ({ platform, client, admin, ann } = await stage());
  client.subscribe("svc.desk.form", {
    callback: (_, message) => {
      requests.push(message.json<HttpRequestMessage>());
      message.respond(JSON.stringify({ status: 204 }));
    },
  });
  await register("desk.form", { kind: "http", acts: [...ACTS] });
  await client.flush();
  const body = {
    id: "front-desk",
    uses: [{ service: "desk", handlers: ["form"], acts: [...ACTS] }],
    modules: [
      {
        id: "notes",
        type: "CONTENT",
        schemas: [
          {
            id: "note",
            access: { read: ["own"], create: ["handler:desk.form"] },
            fields: [{ name: "text", type: "string" }],
          },
        ],
      },
    ],
  };
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body });
  expect(made.status).toBe(201);
});
afterAll(() => client.close());

/** Sends a request through the handler, and returns the credential that the service got. */
async function through(method: string) {
  requests.length = 0;
  const response = await fetch(`${platform.origin}/api/front-desk/form`, {
    method,
    headers: { authorization: `Bearer ${ann.token}` },
  });
  expect(response.status).toBe(204);
  return requests[0]?.credential ?? expect.fail(`${method} came without a credential`);
}

test("a POST lets the service write for its caller, who may not write alone", async () => {
  const { token } = await through("POST");
  const body = { values: { text: "by the form" } };
  const made = await call(platform, "POST", "/api/front-desk/notes", { token, body });
  expect(made).toMatchObject({ status: 201, body: { createdBy: ann.id } });
  const alone = await call(platform, "POST", "/api/front-desk/notes", { token: ann.token, body });
  expect(alone.status).toBe(403);
});

test.each(["GET", "HEAD"])(
  "a %s lets the service only read, because a link of another site can cause it",
  async (method) => {
    const { token, acts } = await through(method);
    expect(acts).toEqual(ACTS.filter((act) => /:(read|reveal|evaluate)$/.test(act)));
    const body = { values: { text: "by a link" } };
    const made = await call(platform, "POST", "/api/front-desk/notes", { token, body });
    expect(made).toMatchObject({ status: 403, body: { code: "missing_act" } });
    expect((await call(platform, "GET", "/api/front-desk/notes", { token })).status).toBe(200);
  },
);
