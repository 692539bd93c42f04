import { expect, test } from "vitest";
import { anonymous } from "../../shared/access/actor.ts";
import { countCode, countSignup, enforceRateLimit, type LimitRule } from "../../shared/access/limits.ts";
import type { Deps } from "../../shared/deps.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { countGuess } from "../../shared/quotas/guesses.ts";
import { countBytes, countCall, countWrite } from "../../shared/quotas/quotas.ts";
import { takeReader } from "../../shared/quotas/readers.ts";
import { readerOf } from "../../shared/streams/caller.ts";
import { Admission } from "../../shared/streams/read/admission.ts";
import { DEFAULT_LIMITS } from "../../shared/streams/read/limits.ts";
import { fileAccess } from "../support/access.ts";

const { store, deps } = await fileAccess();
const base = deps();
const quotas = {
  ...base.config.quotas,
  accountWrites: 12,
  accountCalls: 12,
  accountBytes: 12_000,
  accountConflicts: 2,
  networkSignups: 12,
  readersPerUser: 12,
};

/** Returns the dependencies of a request from an address. */
function from(client: string): Deps {
  const all = deps(store, { quotas });
  return { ...all, request: { ...all.request, client } };
}

const rule = (name: LimitRule) => (one: Deps) => enforceRateLimit(one, name);
const admission = new Admission({
  limits: { ...DEFAULT_LIMITS, perUser: 12, perAdmin: 12, perOrb: 1_000 },
  admitToOrb: undefined,
  refused: () => {},
});

/** Everything that limits what a client without an account may do. A new limit needs a line here. */
const LIMITS: Record<string, (deps: Deps) => unknown> = {
  "sign-ins that begin": rule("begin"),
  "sign-ins that complete": rule("complete"),
  "look-ups of invitations": rule("invitation"),
  "attempts to bootstrap": rule("bootstrap"),
  registrations: (one) => countSignup(one, "auth"),
  "recovery codes": countCode,
  writes: (one) => countWrite(one, anonymous, "shop"),
  calls: (one) => countCall(one, anonymous, "shop"),
  "stored bytes": (one) => countBytes(one, anonymous, 1_000),
  "guesses at unique values": (one) => countGuess(one, anonymous, "shop", { secret: ["pin"], unread: [] }),
  "live readers of the functions": async (one) =>
    takeReader(one, anonymous, (await readerOf(one, anonymous)).userId),
  "live readers of the streams process": async (one) =>
    admission.admit((await readerOf(one, anonymous)).userId, false, "øshop"),
};

test.each(Object.entries(LIMITS))(
  "%s: all addresses of one IPv6 network share one limit",
  async (_, attempt) => {
    const addressIn = (network: string, n: number) => `${network}:${n.toString(16)}:1:2:${n.toString(16)}`;
    const refused = async (client: string) => {
      try {
        await attempt(from(client));
        return false;
      } catch (error) {
        if (error instanceof AppError && error.kind === "too_many") return true;
        throw error;
      }
    };
    let tries = 0;
    while (!(await refused(addressIn("2001:db8:1:2", tries + 1)))) {
      tries++;
      expect(tries, "a new address of the same network must not be a new client").toBeLessThan(1_500);
    }
    expect(tries).toBeGreaterThan(0);
    expect(await refused("2001:db8:1:3::1"), "another network has a limit of its own").toBe(false);
  },
);
