/** The code of a program's sign-in: its end, and crashes between the steps of an exchange. */
import { expect, test } from "vitest";
import { generateKeys } from "../../scripts/config/secrets.ts";
import type { Actor } from "../../shared/access/actor.ts";
import { allowProgram, CODE_SECONDS, exchangeCode } from "../../shared/access/machines/programs.ts";
import { listApiTokens } from "../../shared/access/machines/tokens.ts";
import { sharedRealm } from "../../shared/access/realms.ts";
import { startSession } from "../../shared/access/sessions.ts";
import type { Deps } from "../../shared/deps.ts";
import { sha256 } from "../../shared/kernel/ids.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import { Stopped, stoppingStore } from "../support/counting.ts";
import { fileDeps, testDeps } from "../support/entries.ts";
import { VERIFIER } from "../support/tokens.ts";

const { broker, store } = await fileDeps();
const { JWT_SIGNING_KEYS: jwtSigningKeys } = await generateKeys();
const deps = (over = store): Deps => testDeps(over, { jwtSigningKeys });
const challenge = await sha256(VERIFIER);
let number = 0;

/** An account of the shared realm with a session. */
async function person(): Promise<Actor & { kind: "orb" }> {
  const sub = (++number).toString(16).padStart(32, "0");
  const [role, name, email, realm] = ["user", "Ann", null, "auth"] as const;
  const at = new Date().toISOString();
  const account = { v: 1, id: sub, name, email, role, status: "active", invitation: null, credentials: [] };
  const record = JSON.stringify({ ...account, createdAt: at, updatedAt: at });
  await store.kvPut(buckets.orbUsers, `${realm}.${sub}`, record);
  const { sid } = await startSession(deps(), { realm, sub, role, name, email, ttl: 3_600 });
  return { kind: "orb", realm, sub, role, name, sid, exp: 4e9 };
}

const wish = { program: "orb", host: "laptop", scopes: [{ orb: "*", can: ["read"] as const }], days: 30 };
const allow = (actor: Actor) =>
  allowProgram(deps(), actor, { realm: sharedRealm, ...wish, challenge, redirect: null });
const exchange = (with_: Deps, code: string) =>
  exchangeCode(with_, { realm: sharedRealm, code, verifier: VERIFIER, redirect: null });

test("ends after a minute, on a host whose broker still has it", async () => {
  const actor = await person();
  const code = await allow(actor);
  const late = { ...deps(), clock: { now: () => Date.now() + CODE_SECONDS * 1000 } };
  await expect(exchange(late, code)).rejects.toMatchObject({ kind: "unauthenticated", code: "code_refused" });
  expect(await listApiTokens(deps(), actor, { realm: sharedRealm })).toEqual([]);
});

test("leaves at most one unused token in the account's list when the process dies during the exchange", async () => {
  const list = async (actor: Actor) => listApiTokens(deps(), actor, { realm: sharedRealm });
  const after = new Set<string>();
  for (let step = 0; ; step++) {
    await broker.store("operator").purge(streams.limits, ">");
    const actor = await person();
    const code = await allow(actor);
    try {
      await exchange(deps(stoppingStore(store, step)), code);
      expect(await list(actor)).toHaveLength(1);
      break;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    const tokens = await list(actor);
    // A second attempt finishes what the first one has not begun, or is refused.
    const again = await exchange(deps(), code).then(
      () => "exchanged",
      (error: { code: string }) => error.code,
    );
    after.add(`${tokens.length} ${again}`);
    expect(tokens.every(({ name, lastUsedAt }) => name === "orb on laptop" && lastUsedAt === null)).toBe(
      true,
    );
    expect((await list(actor)).length).toBeLessThanOrEqual(1);
  }
  expect([...after].sort()).toEqual(["0 code_refused", "0 exchanged", "1 code_refused"]);
});
