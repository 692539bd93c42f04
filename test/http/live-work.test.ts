/** Live lists whose filters compare long texts: events come later, none is lost, and other lists are not affected. */
import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { Follow } from "../support/live.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform } from "../support/platform.ts";

const LENGTH = 300_000;
const ENTRIES = 15;
const needle = "a".repeat(200);

test("lists with heavy filters get every change, and lists without get theirs meanwhile", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const fields = [
    { name: "body", type: "text" },
    { name: "size", type: "integer" },
  ];
  const schemas = [{ id: "text", access: { read: "public", write: "admin" }, fields }];
  await createOrb(platform, token, { id: "paced", modules: [{ id: "long", type: "CONTENT", schemas }] });
  const origin = () => platform.origin;
  const contains = Array.from({ length: 20 }, (_, at) => `filter[or][${at}][body][contains]=${needle}${at}`);
  const heavy = new Follow(`/api/paced/long?live=sse&fields=size&${contains.join("&")}`, { origin });
  const light = new Follow("/api/paced/long?live=sse&fields=size", { origin });
  await Promise.all([heavy.until(() => heavy.ready), light.until(() => light.ready)]);
  for (let size = 0; size < ENTRIES; size++) {
    const values = { body: `${"a".repeat(LENGTH)}${size % 3 === 0 ? needle + (size % 20) : ""}`, size };
    const made = await call(platform, "POST", "/api/paced/long?publish=true", { token, body: { values } });
    expect(made.status).toBe(201);
  }
  await light.until(() => light.items.size === ENTRIES);
  await heavy.until(() => heavy.items.size === ENTRIES / 3);
  const sizes = [...heavy.items.values()].map(({ values }) => values.size as number);
  expect(sizes.sort((a, b) => a - b)).toEqual(Array.from({ length: ENTRIES / 3 }, (_, at) => at * 3));
  expect([heavy.refused, light.refused]).toEqual([[], []]);
  await Promise.all([heavy.stop(), light.stop()]);
}, 180_000);
