/**
 * How programs such as `orb login` sign in: the authorization code flow for native apps (RFC 8252) with PKCE. A
 * person who is signed in approves the program. The browser passes a code to the program, which exchanges the code
 * for an API token of that person.
 */
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { sameText, sha256 } from "../../kernel/ids.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { buckets } from "../../store/subjects.ts";
import type { Actor } from "../actor.ts";
import { audit } from "../audit.ts";
import { accountWith } from "../authenticate.ts";
import { requireOwn } from "../authorize.ts";
import type { Scope } from "../credentials/index.ts";
import { enforceRateLimit } from "../limits.ts";
import type { Realm } from "../realms.ts";
import { type ApiToken, createApiToken, requireCreatable } from "./tokens.ts";

/** Lifetime of a code in seconds. */
export const CODE_SECONDS = 60;
const DAY_MS = 24 * 3_600_000;
const CODE_BYTES = 32;
/** Value that replaces the record of a code after the code was used. */
const USED = "used";

/** A program's request for an API token. The program itself chooses its name and the name of its computer. */
export interface ProgramRequest {
  program: string;
  /** Name of the computer on which the program runs. */
  host: string;
  scopes: Scope[];
  /** Lifetime of the token in days. */
  days: number;
  /** PKCE code challenge: SHA-256 of the code verifier, in base64url. */
  challenge: string;
  /** Loopback URL that receives the code. Null if the person copies the code into the program. */
  redirect: string | null;
}

/** Stored record of a code. The storage key is the hash of the code. */
interface CodeRecord extends ProgramRequest {
  v: 1;
  realm: string;
  sub: string;
  /** Session in which the person approved the program. */
  sid: string;
  /** Time at which the session `sid` expires, in seconds since the epoch. */
  sessionExp: number;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

const keyOf = (code: string) => sha256(`program/${code}`);

const expiryOf = (now: number, days: number) => new Date(now + days * DAY_MS).toISOString();

/**
 * Throws if the caller may not grant the requested rights to the program. Returns the time at which the program's API
 * token would expire.
 */
export function requireAllowable(
  deps: Deps,
  actor: Actor,
  { realm, scopes, days }: Pick<ProgramRequest, "scopes" | "days"> & { realm: Realm },
): string {
  requireOwn(actor, realm.name, "programs");
  const now = deps.clock.now();
  const expiresAt = expiryOf(now, days);
  requireCreatable(actor, { realm, scopes, expiresAt }, now);
  return expiresAt;
}

/**
 * Allows a program to act as the caller.
 * @returns a code that the program can exchange once for an API token
 */
export async function allowProgram(
  deps: Deps,
  actor: Actor,
  { realm, ...request }: ProgramRequest & { realm: Realm },
): Promise<string> {
  requireOwn(actor, realm.name, "programs");
  requireAllowable(deps, actor, { realm, ...request });
  const { sub, sid, exp } = actor;
  const code = deps.randomToken(CODE_BYTES);
  const record: CodeRecord = {
    v: 1,
    ...request,
    realm: realm.name,
    sub,
    sid,
    sessionExp: exp,
    expiresAt: deps.clock.now() + CODE_SECONDS * 1000,
  };
  // Write the audit record first. Otherwise a crash could leave a working code that the audit log does not show.
  await audit(deps, { realm: realm.name, action: "token", actor, target: sub, detail: "program_allowed" });
  await deps.store.kvPut(buckets.challenges, await keyOf(code), JSON.stringify(record), {
    expect: 0,
    ttl: CODE_SECONDS,
  });
  return code;
}

export interface CodeExchange {
  realm: Realm;
  code: string;
  /** PKCE code verifier. */
  verifier: string;
  /** URL to which the browser returns: the parameter `redirect` of the authorization request. Null if missing. */
  redirect: string | null;
}

/**
 * Exchanges a code for an API token. The write that marks the code as used expects an unused code, so only one of
 * several simultaneous exchanges succeeds. After a crash between that write and the response, the account may list an
 * unused token whose text is lost.
 * @throws AppError unauthenticated `code_refused`, with the same message for every reason
 */
export async function exchangeCode(deps: Deps, input: CodeExchange): Promise<ApiToken & { text: string }> {
  const { realm, code } = input;
  await enforceRateLimit(deps, "complete");
  const key = await keyOf(code);
  const found = await deps.store.kvGet(buckets.challenges, key, { consistency: "leader" });
  if (found === null || found.text() === USED) throw codeRefused();
  const record = found.json<CodeRecord>();
  if (record.realm !== realm.name) throw codeRefused();
  const { sub, sid, program, host, scopes, days } = record;
  try {
    const now = deps.clock.now();
    const proven = sameText(await sha256(input.verifier), record.challenge);
    if (!proven || record.redirect !== input.redirect || record.expiresAt <= now) throw codeRefused();
    const use = deps.store.kvPut(buckets.challenges, key, USED, {
      expect: found.revision,
      ttl: CODE_SECONDS * 2,
    });
    if ((await nullOnConflict(use)) === null) throw codeRefused();
    const session = { realm: realm.name, sub, sid, exp: record.sessionExp };
    const actor = await accountWith(deps, session, "leader");
    const expiresAt = expiryOf(now, days);
    return await createApiToken(deps, actor, { realm, name: `${program} on ${host}`, scopes, expiresAt });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // Since the person approved the program, the session may have ended, or an admin may have disabled the account.
    const refused = error.kind === "unauthenticated" ? codeRefused() : error;
    if (AUDITED.has(refused.kind)) {
      await audit(deps, {
        realm: realm.name,
        action: "token",
        actor: { sub },
        target: sub,
        outcome: "refused",
        detail: refused.code,
      });
    }
    throw refused;
  }
}

const AUDITED: ReadonlySet<string> = new Set(["unauthenticated", "forbidden", "conflict", "not_found"]);

function codeRefused(): AppError {
  const detail = "The code is not valid, has expired or was used. Start the sign-in again.";
  return new AppError("unauthenticated", "code_refused", detail);
}
