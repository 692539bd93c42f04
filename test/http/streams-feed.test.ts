import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { sentEvents } from "../support/streams.ts";

let platform: TestPlatform;
let token: string;
const ORB = {
  id: "store",
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          fields: [
            { name: "title", type: "string" },
            { name: "cost", type: "string", sensitive: true },
          ],
        },
        { id: "secret", access: { read: "admin" }, fields: [{ name: "title", type: "string" }] },
      ],
    },
  ],
};

beforeAll(async () => {
  platform = await startPlatform({ streams: true });
  token = await adminToken(platform);
  expect((await call(platform, "POST", "/api/admin/orbs", { token, body: ORB })).status).toBe(201);
  expect((await call(platform, "POST", "/api/admin/orbs/store/publish", { token })).status).toBe(200);
  const mapping = { stream: "østore", subjectFilter: "store.*.public.>", description: "What is live" };
  const put = await call(platform, "PUT", "/api/admin/streams/store-live", { token, body: mapping });
  expect(put.status).toBe(201);
  return () => platform.stop();
});

/** What the feed says of an entry: its title, or that it is gone. */
interface Told {
  id: string;
  tombstone?: boolean;
  values?: { title: string };
}

test.each(["functions", "process"])("the feed of what is live tells every move, by the %s", async (host) => {
  const base = host === "functions" ? platform.origin : platform.streamsUrl;
  const response = await fetch(`${base}/api/streams/store-live?offset=now&live=sse`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const said: string[] = [];
  let raw = "";
  const reading = (async () => {
    for await (const { type, data } of sentEvents(response)) {
      if (type !== "data") continue;
      raw += data;
      for (const { tombstone, values } of JSON.parse(data) as Told[])
        said.push(tombstone === true ? "gone" : (values?.title ?? ""));
      if (said.length === 4) return;
    }
  })();
  const entries = "/api/admin/orbs/store/entries";
  const create = (schema: string, values: object, more: object = {}) =>
    call(platform, "POST", `${entries}?publish=true`, {
      token,
      body: { module: "catalog", schema, values, ...more },
    });
  const made = await create("product", { title: "now", cost: "under the counter" });
  expect(made.status).toBe(201);
  expect((await create("secret", { title: "hidden" })).status).toBe(201);
  expect((await call(platform, "POST", `${entries}/${made.body.id}/unpublish`, { token })).status).toBe(200);
  // The broker opens and closes the window by itself.
  const from = Date.now() + 1200;
  const window = { validFrom: new Date(from).toISOString(), validTo: new Date(from + 1500).toISOString() };
  expect((await create("product", { title: "for a while", cost: "less" }, window)).status).toBe(201);
  await reading;
  expect(said).toEqual(["now", "gone", "for a while", "gone"]);
  expect(raw).not.toContain("counter");
  expect(raw).not.toContain("sealed");
});
