/** Responses have a bounded size, in workerd and in the Node host. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { catalogOf, type Near, startNear } from "../support/near.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let near: Near;
const hosts = () => [platform, near.platform];

const field = (name: string, type: string, more: object = {}) => ({ name, type, ...more });
const reference = (orb: string, list: boolean) =>
  field("others", "reference", { ref: `${orb}/catalog/product`, list });

beforeAll(async () => {
  platform = await sharedPlatform();
  near = await startNear(platform);
});
afterAll(async () => {
  await near?.host.stop();
});

test("ends a page of large entries early, with and without a cache", async () => {
  const orb = await near.orb(catalogOf("large", [field("body", "text")]));
  const path = `/api/${orb}/catalog/product`;
  for (let n = 0; n < 12; n++) await near.published(path, { body: `${n}`.padEnd(400_000, "x") });
  for (const host of hosts()) {
    // In the second round the host has some of the entries in its cache.
    for (let turn = 0; turn < 2; turn++) {
      const seen: string[] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
        const { status, body } = await call(host, "GET", `${path}?limit=200${more}`);
        expect(status).toBe(200);
        expect(body.items.length).toBeLessThan(8);
        seen.push(...body.items.map((item: { values: { body: string } }) => item.values.body.slice(0, 2)));
        cursor = body.nextCursor;
      }
      expect(seen).toEqual(Array.from({ length: 12 }, (_, n) => `${n}`.padEnd(2, "x").slice(0, 2)));
    }
  }
});

test("shortens a page whose expanded references are too large, and refuses a single such entry", async () => {
  const orb = await near.orb(catalogOf("wide", [field("body", "text"), reference("wide", true)]));
  const path = `/api/${orb}/catalog/product`;
  const target = await near.published(path, { body: "x".repeat(50_000) });
  const few: string[] = [];
  for (let n = 0; n < 4; n++)
    few.push(await near.published(path, { others: Array.from({ length: 40 }, () => target) }));
  const many = await near.published(path, { others: Array.from({ length: 400 }, () => target) });
  const tooBroad = { status: 422, body: { code: "too_broad" } };
  for (const host of hosts()) {
    const { body } = await call(host, "GET", `${path}/${few[0]}?expand=others`);
    expect(body.expand.others).toHaveLength(40);
    expect(await call(host, "GET", `${path}/${many}?expand=others`)).toMatchObject(tooBroad);
    const seen: string[] = [];
    let asked = 0;
    for (let cursor = ""; seen.length < 5; asked++) {
      const page = await call(host, "GET", `${path}?expand=others${cursor}`);
      expect(page.status).toBe(200);
      seen.push(...page.body.items.map(({ id }: { id: string }) => id));
      cursor = `&cursor=${page.body.nextCursor}`;
    }
    expect(asked).toBeGreaterThan(1);
    expect(seen).toEqual([target, ...few]);
    expect(await call(host, "GET", `${path}?expand=others&sort=-createdAt`)).toMatchObject(tooBroad);
  }
});

test("changes the ETag of an expanded response when the referenced orb's definition changes", async () => {
  const both = [field("title", "string"), field("salary", "integer")];
  const people = await near.orb(catalogOf("people", both));
  const orb = await near.orb(catalogOf("teams", [reference(people, false)]));
  const ann = await near.published(`/api/${people}/catalog/product`, { title: "Ann", salary: 7 });
  const id = await near.published(`/api/${orb}/catalog/product`, { others: ann });
  const ask = (host: TestPlatform, tag?: string) =>
    fetch(`${host.origin}/api/${orb}/catalog/product/${id}?expand=others`, {
      headers: tag === undefined ? {} : { "if-none-match": tag },
    });
  const tags: string[] = [];
  for (const host of hosts()) {
    const answer = await ask(host);
    expect(await answer.text()).toContain("salary");
    tags.push(answer.headers.get("etag") ?? "");
  }
  const { token } = near;
  const document = catalogOf(people, both.slice(0, 1));
  const put = await call(platform, "PUT", `/api/admin/orbs/${people}?publish=true`, {
    token,
    body: document,
  });
  expect(put.status).toBe(200);
  for (const [n, host] of hosts().entries()) {
    const answer = await ask(host, tags[n]);
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain("salary");
  }
});
