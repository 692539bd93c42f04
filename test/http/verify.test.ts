/** The check of all stored data of an orb: the route, and the command that calls it. */
import { expect, test } from "vitest";
import { forgetLoss, tellLoss } from "../../shared/definition/stored/losses.ts";
import { adminToken, call } from "../support/auth.ts";
import { testDeps } from "../support/entries.ts";
import { orbCommand } from "../support/orb-command.ts";
import { createOrb, small } from "../support/orbs.ts";
import { sharedPlatform } from "../support/platform.ts";

const platform = await sharedPlatform({});
const token = await adminToken(platform);
const store = platform.operatorStore();
await createOrb(platform, token, small("sound"));
await createOrb(platform, token, small("damaged"));
const create = (orb: string) =>
  call(platform, "POST", `/api/${orb}/news?publish=true`, { token, body: { values: { title: "T" } } });
await create("sound");
const { id } = (await create("damaged")).body as { id: string };

async function linesOf(orb: string, as = token): Promise<Record<string, unknown>[]> {
  const answer = await fetch(`${platform.url}/api/admin/orbs/${orb}/verify`, {
    headers: { authorization: `Bearer ${as}` },
  });
  expect(answer.status).toBe(200);
  return (await answer.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ kind }) => kind !== "running");
}

test("reports nothing for sound data, and names what contradicts itself", async () => {
  expect(await linesOf("sound")).toEqual([{ kind: "end", damages: 0 }]);
  const index = `damaged._ix.content.post.${id}`;
  await store.purge("ødamaged", index);
  expect(await linesOf("damaged")).toEqual([
    expect.objectContaining({
      kind: "damage",
      stream: "ødamaged",
      says: `entry ${id} is missing in the order of creation.`,
    }),
    { kind: "end", damages: 1 },
  ]);
});

test("reports a known loss", async () => {
  const deps = testDeps(store);
  const loss = {
    stream: "øsound",
    from: 3,
    to: 5,
    at: new Date().toISOString(),
    says: "the stream ends early.",
  };
  await tellLoss(deps, loss);
  expect(await linesOf("sound")).toEqual([
    { kind: "damage", stream: "øsound", from: 3, to: 5, says: loss.says },
    { kind: "end", damages: 1 },
  ]);
  await forgetLoss(deps, loss.stream);
});

test("is for platform admins only, and answers 404 for an unknown orb", async () => {
  expect((await call(platform, "GET", "/api/admin/orbs/sound/verify")).status).toBe(401);
  expect((await call(platform, "GET", "/api/admin/orbs/nobody/verify", { token })).status).toBe(404);
});

test("orb verify checks all orbs, and exits with 1 if one is damaged", async () => {
  const orb = await orbCommand(platform.origin, token);
  const sound = await orb.run("verify", "sound");
  expect([sound.code, sound.out]).toEqual([
    0,
    "ok    sound     All stored data can be read and agrees with itself.\n",
  ]);
  const all = await orb.run("verify");
  expect(all.code, all.err).toBe(1);
  expect(all.out).toMatch(/^FAIL {2}damaged {3}ødamaged, sequence \d+: entry \S+ is missing/m);
  const json = await orb.run("verify", "damaged", "--json");
  expect(JSON.parse(json.out)).toEqual([expect.objectContaining({ orb: "damaged", total: 1 })]);
});

test("an orb names its losses, and those that are no lost revisions stop no writes", async () => {
  const deps = testDeps(store);
  const read = async (tag?: string) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(tag === undefined ? {} : { "if-none-match": tag }),
    };
    return fetch(`${platform.url}/api/admin/orbs/sound`, { headers });
  };
  const before = await read();
  const whole = (await before.json()) as Record<string, unknown>;
  expect(whole).not.toHaveProperty("damaged");
  const at = new Date().toISOString();
  const found = { stream: "øsound", from: 3, to: 5, at, says: "entry x is missing in the index of sku." };
  await tellLoss(deps, { ...found, writable: true });
  try {
    // The hosts follow the definitions of orbs.
    await expect.poll(async () => (await read(before.headers.get("etag") ?? "")).status).toBe(200);
    const answer = await read();
    expect(answer.headers.get("orb-damaged")).toBe(`from=3, to=5, since="${at}"`);
    const { damaged, ...document } = (await answer.json()) as Record<string, unknown>;
    const shown = { stream: "øsound", from: 3, to: 5, since: at, says: found.says, writable: true };
    expect(damaged).toEqual([expect.objectContaining(shown)]);
    expect(document).toEqual(whole);
    const list = await fetch(`${platform.url}/api/sound/news`);
    await list.body?.cancel();
    expect(list.headers.get("orb-damaged")).toContain("from=3, to=5");
    expect((await create("sound")).status).toBe(201);
    const sent = await call(platform, "PUT", "/api/admin/orbs/sound?dryRun=true", {
      token,
      body: { ...whole, damaged },
    });
    expect(sent.status).toBe(200);

    // A loss of revisions says more.
    await tellLoss(deps, { ...found, at: new Date().toISOString(), says: "the stream ends early." });
    await expect.poll(async () => (await create("sound")).status).toBe(503);
  } finally {
    await forgetLoss(deps, found.stream);
  }
  await expect.poll(async () => (await create("sound")).status).toBe(201);
});
