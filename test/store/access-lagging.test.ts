/** Revocations see every record, even if reads come from a replaced leader and from a replica that lags. */
import { expect, test } from "vitest";
import { generateKeys } from "../../scripts/config/secrets.ts";
import { createInvitation, listInvitations } from "../../shared/access/invitations.ts";
import { sharedRealm } from "../../shared/access/realms.ts";
import { readSession, startSession } from "../../shared/access/sessions.ts";
import { changeUser } from "../../shared/access/users.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { startBroker } from "../support/broker.ts";
import { admin, testDeps } from "../support/entries.ts";

/**
 * A store that reads two buckets in the state of now for some more reads, like a broker that was stopped and does not know
 * yet that another one leads. Writes reach the true leader.
 */
async function behind(inner: Store, reads: number): Promise<Store> {
  const seqs = new Map<string, number>();
  for (const bucket of [buckets.sessions, buckets.orbInvitations]) {
    seqs.set(streams.kv(bucket), await inner.kvLast(bucket));
  }
  const left = new Map([...seqs.keys()].map((stream) => [stream, reads]));
  const scan: Store["scan"] = async (stream, filter, page) => {
    const known = seqs.get(stream);
    const turns = left.get(stream) ?? 0;
    left.set(stream, turns - 1);
    const found = await inner.scan(stream, filter, page);
    if (known === undefined || turns <= 0) return found;
    return { ...found, messages: found.messages.filter(({ seq }) => seq <= known) };
  };
  return {
    ...inner,
    scan,
    async get(stream, subject, options) {
      const known = seqs.get(stream);
      if (known === undefined || !subject.includes("*") || (left.get(stream) ?? 0) <= 0)
        return inner.get(stream, subject, options);
      const { messages } = await inner.scan(stream, subject, { fromSeq: 1, limit: 256, maxBytes: 1e6 });
      return messages.findLast(({ seq }) => seq <= known) ?? null;
    },
  };
}

test("disabling an account ends a session and revokes an invitation that a replaced leader does not know", async () => {
  await using broker = await startBroker();
  const keys = await generateKeys();
  const deps = testDeps(broker.store("fn"), {
    jwtSigningKeys: keys.JWT_SIGNING_KEYS,
    encryptionKeys: keys.ENCRYPTION_KEYS,
  });
  const account = {
    ...{ v: 1, id: "ann", name: "Ann", email: null, role: "owner", status: "active" },
    ...{
      invitation: "i",
      credentials: ["c"],
      createdAt: "2026-01-01T00:00:00Z",
      updatedAt: "2026-01-01T00:00:00Z",
    },
  };
  await deps.store.kvPut(buckets.orbUsers, "auth.ann", JSON.stringify(account));
  const start = {
    realm: "auth",
    sub: "ann",
    role: "owner",
    name: "Ann",
    email: null,
    credential: "c",
    ttl: 60,
  } as const;
  const first = await startSession(deps, start);
  const stale = await behind(deps.store, 3);
  const second = await startSession(deps, start);
  const ann = {
    kind: "orb",
    realm: "auth",
    sub: "ann",
    sid: second.sid,
    exp: 4e9,
    name: "Ann",
    role: "owner",
  } as const;
  await createInvitation(deps, ann, { realm: sharedRealm, role: "owner" });

  await changeUser({ ...deps, store: stale }, admin, { realm: sharedRealm, id: "ann", status: "disabled" });
  for (const { sid } of [first, second]) expect(await readSession(deps, "auth", "ann", sid)).toBeNull();
  const [invitation] = await listInvitations(deps, admin, sharedRealm);
  expect(invitation?.status).toBe("revoked");
});
