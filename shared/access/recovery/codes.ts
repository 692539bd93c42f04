/**
 * Recovery codes. A person who has lost all passkeys uses a recovery code to add a new passkey without the help of an
 * admin. Codes are created in sets, and each code consists of the name of its set and a secret. The record of a set
 * names its account. The account names its only valid set.
 */
import { base64url } from "jose";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { sameSecret, sha256 } from "../../kernel/ids.ts";
import { untilWritten } from "../../store/pages.ts";
import { buckets, kvSubject, streams } from "../../store/subjects.ts";
import { type AccountRecord, changeAccount, readAccount, readRecord, type Versioned } from "../accounts.ts";
import type { Actor } from "../actor.ts";
import { audit } from "../audit.ts";
import { requireOwn } from "../authorize.ts";
import { isEffective } from "../bootstrap.ts";
import { countCode, countCodeOf } from "../limits.ts";
import { keys, type Realm } from "../realms.ts";
import { refusal } from "../refusals.ts";
import { readSession } from "../sessions.ts";
import { badToken } from "../tokens.ts";

export const CODES = 10;
/** 32 characters, so each character encodes 5 bits. Omits 0, O, 1 and I, which people confuse. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/**
 * Number of characters in the name of a set of codes. They are 40 random bits, so two sets rarely get the same name.
 */
const SET_LENGTH = 8;
/**
 * Number of characters in a secret: 80 random bits. They cannot be guessed, so a hash without a salt is sufficient.
 */
const SECRET_LENGTH = 16;
const FORM = new RegExp(`^[${ALPHABET}]{${SET_LENGTH + SECRET_LENGTH}}$`);
const GROUP = /.{4}(?=.)/g;

interface CodesRecord {
  v: 1;
  account: string;
  /** For each code, the SHA-256 of the realm (set of accounts), the name of the set of codes, and the secret. */
  hashes: string[];
  createdAt: string;
}

export interface CodesState {
  /** Number of codes that still work. All codes of a set stop working once one is used. */
  remaining: number;
  createdAt: string | null;
}

const letters = (deps: Deps, count: number) =>
  Array.from(base64url.decode(deps.randomToken(count)), (byte) => ALPHABET[byte % ALPHABET.length]).join("");

const hashOf = (realm: Realm, set: string, secret: string) => sha256(`${realm.name}/${set}/${secret}`);

/** Returns the same error for every invalid code, so that callers cannot learn which accounts exist. */
export function codeRefused(): AppError {
  const detail = "This recovery code was not accepted. Check it, or ask an admin for a recovery link.";
  return new AppError("unauthenticated", "recovery_code_refused", detail);
}

export async function recoveryCodesOf(deps: Deps, actor: Actor, realm: Realm): Promise<CodesState> {
  requireOwn(actor, realm.name, "recovery");
  const account = await readAccount(deps, realm, actor.sub);
  if (account === null) throw refusal(actor);
  const { codes } = account.value;
  const key = codes === undefined ? null : keys.codes(realm, codes.set);
  // A restore deletes all sets of recovery codes, but the account may still name one of them.
  const set = key === null ? null : await readRecord<CodesRecord>(deps, realm.buckets.credentials, key);
  return { remaining: set?.value.hashes.length ?? 0, createdAt: set?.value.createdAt ?? null };
}

/**
 * Deletes all recovery codes after a restore, because codes in the backup may have been used since the backup was
 * made.
 * @returns the number of deleted sets
 */
export async function voidAllCodes(deps: Deps): Promise<number> {
  const every = [buckets.platformCredentials, buckets.orbCredentials].map((bucket) =>
    deps.store.purge(streams.kv(bucket), kvSubject(bucket, "*.codes.*")),
  );
  return (await Promise.all(every)).reduce((sum, count) => sum + count, 0);
}

/**
 * Creates recovery codes for the signed-in account, and invalidates earlier codes. No later request can read the
 * codes. Throws if the session has ended, so that a stolen session token cannot be used after its end.
 */
export async function createRecoveryCodes(
  deps: Deps,
  actor: Actor,
  realm: Realm,
): Promise<CodesState & { codes: string[] }> {
  requireOwn(actor, realm.name, "recovery");
  const { sub, sid } = actor;
  const createdAt = new Date(deps.clock.now()).toISOString();
  const { set, secrets } = await writeSet(deps, realm, sub, createdAt);
  let earlier: string | undefined;
  await changeAccount(deps, realm, sub, (current) => {
    // An unfinished recovery is about to end all sessions, perhaps including this one. So this session must not
    // create codes.
    if (current.status !== "active" || current.recovered !== undefined) throw badToken();
    earlier = current.codes?.set;
    return { ...current, codes: { set, createdAt } };
  });
  if ((await readSession(deps, realm.name, sub, sid, "leader")) === null) {
    await changeAccount(deps, realm, sub, (current) =>
      current.codes?.set === set ? { ...current, codes: undefined } : null,
    );
    throw badToken();
  }
  await Promise.all([
    earlier === undefined ? undefined : deleteSet(deps, realm, earlier),
    audit(deps, { realm: realm.name, action: "recovery", actor, target: sub, detail: "codes_created" }),
  ]);
  const codes = secrets.map((secret) => `${set}${secret}`.replace(GROUP, "$&-"));
  return { codes, remaining: codes.length, createdAt };
}

async function writeSet(
  deps: Deps,
  realm: Realm,
  account: string,
  createdAt: string,
): Promise<{ set: string; secrets: string[] }> {
  const secrets = Array.from({ length: CODES }, () => letters(deps, SECRET_LENGTH));
  // If a set with this name exists, try again with another name.
  return untilWritten(async () => {
    const set = letters(deps, SET_LENGTH);
    const hashes = await Promise.all(secrets.map((secret) => hashOf(realm, set, secret)));
    const record: CodesRecord = { v: 1, account, hashes, createdAt };
    await deps.store.kvPut(realm.buckets.credentials, keys.codes(realm, set), JSON.stringify(record), {
      expect: 0,
    });
    return { set, secrets };
  });
}

export async function deleteSet(deps: Deps, realm: Realm, set: string): Promise<void> {
  await deps.store.kvDelete(realm.buckets.credentials, keys.codes(realm, set), { ttl: 60 });
}

/** Throws 401 if the account is missing or disabled, or if `set` is not its valid set of recovery codes. */
export function requireCodes(
  account: AccountRecord | undefined,
  set: string,
): asserts account is AccountRecord {
  if (account?.codes?.set !== set || account.status === "disabled") throw codeRefused();
}

/**
 * Returns the account that a recovery code belongs to. Each attempt counts towards the limit of the client's network.
 * If the code's set exists, the attempt also counts towards the limit of the account.
 * @throws AppError unauthenticated `recovery_code_refused`, with the same text for every reason
 */
export async function findByCode(
  deps: Deps,
  realm: Realm,
  code: string,
): Promise<{ account: Versioned<AccountRecord>; set: string }> {
  await countCode(deps);
  const plain = code.replaceAll(/[\s-]/g, "").toUpperCase();
  const set = plain.slice(0, SET_LENGTH);
  const found = FORM.test(plain)
    ? await readRecord<CodesRecord>(deps, realm.buckets.credentials, keys.codes(realm, set))
    : null;
  if (found !== null) await countCodeOf(deps, realm.name, found.value.account);
  const hash = await hashOf(realm, set, plain.slice(SET_LENGTH));
  // Always compare the same number of hashes, even if the set does not exist, so that timing does not reveal the set.
  const hashes = found?.value.hashes ?? Array<string>(CODES).fill("");
  const same = await Promise.all(hashes.map((known) => sameSecret(hash, known)));
  const account = found === null ? null : await readAccount(deps, realm, found.value.account);
  try {
    if (account === null || !same.includes(true)) throw codeRefused();
    requireCodes(account.value, set);
    if (!(await isEffective(deps, realm, account.value))) throw codeRefused();
    return { account, set };
  } catch (error) {
    await audit(deps, {
      realm: realm.name,
      action: "recovery",
      actor: { sub: "anonymous" },
      target: found?.value.account,
      outcome: "refused",
      detail: "recovery_code_refused",
    });
    throw error;
  }
}
