/** Live lists within a change set, on the functions or the Node host, and on the streams process. */
import { afterEach, describe, expect, it } from "vitest";
import { call, user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { Follow } from "../support/live.ts";

const { platform, as, token: root } = await fileAdmin({ streams: true });
const document = {
  id: "live-sets",
  uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
  roles: [{ id: "editor", name: "Editors" }],
  modules: [
    {
      id: "shop",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          access: {
            read: ["public"],
            create: ["editor"],
            update: ["editor"],
            publish: ["editor"],
            delete: ["editor"],
          },
          fields: [
            { name: "name", type: "string" },
            { name: "price", type: "integer" },
          ],
        },
      ],
    },
  ],
};
expect((await as("POST", "/api/admin/orbs?publish=true", document)).status).toBe(201);
const ITEMS = "/api/live-sets/shop/item";
const editor = await user(platform, "live-sets", "editor");
const outsider = await user(platform, "live-sets");
const by = (method: string, path: string, body?: unknown) =>
  call(platform, method, path, { token: editor.token, ...(body === undefined ? {} : { body }) });

const open: Follow[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((follow) => follow.stop()));
});
function follow(host: string, query: string, token: string | undefined = editor.token): Follow {
  const origin = host === "API" ? platform.origin : (platform.streamsUrl ?? "");
  const made = new Follow(`${ITEMS}?live=sse&${query}`, { token, origin: () => origin });
  open.push(made);
  return made;
}
async function created(values: object, query = "publish=true"): Promise<string> {
  const { status, body } = await by("POST", `${ITEMS}?${query}`, { values });
  expect([status, body.code]).toEqual([201, undefined]);
  return body.id;
}
async function opened(): Promise<string> {
  return (await by("POST", "/api/live-sets/changes", { title: "Preview" })).body.id;
}

describe.each(["API", "streams process"])("a live list within a change set, over the %s", (host) => {
  const price = host === "API" ? 100 : 200;

  it("shows writes into the set and into the orb, and the publication", async () => {
    const [a, b] = [await created({ name: "a", price }), await created({ name: "b", price })];
    const set = await opened();
    const plain = await follow(host, `filter[price][eq]=${price}`).until(({ ready }) => ready);
    const list = await follow(host, `filter[price][eq]=${price}&change=${set}`).until(({ ready }) => ready);
    expect(list.names).toEqual(["a", "b"]);
    await by("PATCH", `${ITEMS}/${a}?change=${set}`, { values: { name: "a2" } });
    await list.until(({ names }) => `${names}` === "a2,b");
    const c = await created({ name: "c", price }, `change=${set}`);
    await list.until(({ names }) => `${names}` === "a2,b,c");
    // Another entry of the orb changes, and so does the other half of one that the set changes.
    await by("PATCH", `${ITEMS}/${b}?publish=true`, { values: { name: "b2" } });
    await list.until(({ names }) => `${names}` === "a2,b2,c");
    await by("PATCH", `${ITEMS}/${a}?change=${set}`, { values: { price: price + 1 } });
    await list.until(({ names }) => `${names}` === "b2,c");
    await by("DELETE", `${ITEMS}/${c}?change=${set}`);
    await list.until(({ names }) => `${names}` === "b2");
    await plain.until(({ names }) => `${names}` === "a,b2");
    expect((await by("POST", `/api/live-sets/changes/${set}/publish`)).status).toBe(200);
    await plain.until(({ names }) => `${names}` === "b2");
    expect(list.names).toEqual(["b2"]);
    expect(list.resets).toBe(1);
    // After an interruption, the client gets the list again.
    list.cut();
    await list.until(({ resets, ready }) => resets === 2 && ready);
    expect(list.names).toEqual(["b2"]);
  });

  it("is refused for callers who may not read the set, and for lists that are too long", async () => {
    const set = await opened();
    const refused = await follow(host, `change=${set}`, outsider.token).until(
      (one) => one.refused.length > 0,
    );
    expect(refused.refused[0]).toBe(404);
    const none = await follow(host, "change=nosuchset").until((one) => one.refused.length > 0);
    expect(none.refused[0]).toBe(404);
    const paged = await follow(host, `change=${set}&limit=2`).until((one) => one.refused.length > 0);
    expect(paged.refused[0]).toBe(400);
  });
});

it("holds at most 1,000 entries", async () => {
  const lines = Array.from({ length: 1_001 }, (_, n) =>
    JSON.stringify({ values: { name: `${n}`, price: 300 } }),
  );
  const response = await fetch(
    `${platform.origin}/api/admin/orbs/live-sets/entries/bulk?module=shop&schema=item&publish=true`,
    {
      method: "POST",
      headers: { "content-type": "application/x-ndjson", authorization: `Bearer ${root}` },
      body: lines.join("\n"),
    },
  );
  expect(response.status).toBe(200);
  await response.text();
  const set = await opened();
  const list = await by("GET", `${ITEMS}?filter[price][eq]=300&live=sse&change=${set}`);
  expect([list.status, list.body.code]).toEqual([422, "too_broad"]);
});
