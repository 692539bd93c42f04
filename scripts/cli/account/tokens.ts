/** The commands `orb token list`, `orb token create` and `orb token revoke`. */
import { isProblem } from "../../../shared/client/problem.ts";
import { CommandError, type Context, manage } from "../command/context.ts";
import { baseOfToken, PLATFORM_BASE } from "../command/token.ts";
import { baseFor } from "./realm.ts";
import { parseScopes, requireDays, type Scope, scopesInWords } from "./scopes.ts";

const DAY_MS = 24 * 3_600_000;

/** Selects the account whose tokens a command works with. */
export interface OwnerOptions {
  /** The application that the service account belongs to. Default: the application of the caller's own token. */
  orb?: string | undefined;
  /** Id of a service account. Default: the caller's own account. */
  account?: string | undefined;
}

interface Token {
  id: string;
  name: string;
  scopes: Scope[];
  /** ISO 8601 time, or `never`. */
  expiresAt: string;
  lastUsedAt: string | null;
  /** Revision of the definition whose shape the token sees. */
  definition?: number;
}

async function baseOf(context: Context, orb: string | undefined): Promise<string> {
  const { token } = context.credential;
  if (token === undefined)
    throw new CommandError(
      `You are not signed in. Run: ${context.loginCommand}. In CI, set ORB_TOKEN to a token.`,
    );
  if (orb !== undefined) return baseFor(context, orb);
  const base = baseOfToken(token);
  if (base === null) throw new CommandError("ORB_TOKEN is not a token of the platform. Copy it again.");
  return base;
}

const queryOf = ({ account }: OwnerOptions): Record<string, string> =>
  account === undefined ? {} : { account };

/** If the platform responds with 403, adds a hint: only tokens with the right `manage` can manage tokens. */
async function advised<T>(context: Context, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (isProblem(error, "missing_scope"))
      throw new CommandError(
        `${error.message} To manage tokens, sign in with: ${context.loginCommand} --scopes read,write,publish,manage`,
      );
    throw error;
  }
}

function endOf({ expiresAt }: Token): string {
  return expiresAt === "never" ? "no end" : `until ${expiresAt.slice(0, 10)}`;
}

function rightsOf({ scopes, definition }: Token): string {
  return `${scopesInWords(scopes)}${definition === undefined ? "" : ` in revision ${definition}`}`;
}

export async function listTokens(context: Context, options: OwnerOptions): Promise<number> {
  const base = await baseOf(context, options.orb);
  const tokens = await advised(context, () =>
    manage<Token[]>(context, "GET", `${base}/tokens`, { query: queryOf(options) }),
  );
  const own = context.credential.token ?? "";
  context.result(tokens, () =>
    tokens.length === 0
      ? "The account has no tokens. Run: orb token create <name>"
      : tokens.map((token) => {
          const used =
            token.lastUsedAt === null ? "not used yet" : `last used ${token.lastUsedAt.slice(0, 10)}`;
          const mark = own.includes(`_${token.id}_`) ? " (this command's)" : "";
          return `${token.id}  ${token.name}${mark}: ${rightsOf(token)}, ${endOf(token)}, ${used}`;
        }),
  );
  return 0;
}

export interface NewTokenOptions extends OwnerOptions {
  scopes: string;
  days?: number | undefined;
  /** Whether the token never expires. Only platform admins may create such tokens. */
  never: boolean;
  /** Revision of the orb's definition that the token sees. */
  definition?: number | undefined;
}

/** Default number of days until a new token expires. */
const DAYS = 90;

/**
 * Returns the expiry of a new token. The platform rejects a token that expires later than the caller's own token. So
 * without `days`, the new token expires after the default time or together with the caller's token, whichever comes
 * first.
 */
async function endFor(context: Context, days: number | undefined): Promise<string> {
  if (days !== undefined) requireDays(days);
  const wanted = new Date(Date.now() + (days ?? DAYS) * DAY_MS).toISOString();
  const { token = "" } = context.credential;
  const base = baseOfToken(token);
  if (days !== undefined || base === null || !token.startsWith("orbtok_")) return wanted;
  const own = await manage<Token>(context, "GET", `${base}/tokens/current`);
  if (own.expiresAt === "never" || Date.parse(own.expiresAt) >= Date.parse(wanted)) return wanted;
  context.note(
    `The new token ends with yours. For a later end, sign in with: ${context.loginCommand} --days 365`,
  );
  // The platform compares expiry times in whole seconds, so round down.
  return new Date(Math.floor(Date.parse(own.expiresAt) / 1_000) * 1_000).toISOString();
}

/** Creates a token. Prints only the token to standard output, so that scripts can store it. */
export async function createToken(context: Context, name: string, options: NewTokenOptions): Promise<number> {
  const base = await baseOf(context, options.orb);
  const shared = base === PLATFORM_BASE || base === "/api/auth";
  const scopes = parseScopes(options.scopes, shared ? "*" : base.slice("/api/".length));
  const expiresAt = options.never ? "never" : await endFor(context, options.days);
  const { definition } = options;
  const body = {
    name,
    expiresAt,
    scopes,
    ...queryOf(options),
    ...(definition === undefined ? {} : { definition }),
  };
  const made = await advised(context, () =>
    manage<Token & { token: string }>(context, "POST", `${base}/tokens`, { body }),
  );
  context.note(`Created ${made.id}: it may ${rightsOf(made)}, ${endOf(made)}.`);
  context.note("Store the token now. It is not shown again.");
  context.result(made, () => made.token);
  return 0;
}

export async function revokeTokens(
  context: Context,
  ids: readonly string[],
  options: OwnerOptions,
): Promise<number> {
  const base = await baseOf(context, options.orb);
  for (const id of ids) {
    await advised(context, () =>
      manage(context, "DELETE", `${base}/tokens/${encodeURIComponent(id)}`, { query: queryOf(options) }),
    );
    context.note(`Revoked ${id}.`);
  }
  context.result({ revoked: ids }, () => []);
  return 0;
}
