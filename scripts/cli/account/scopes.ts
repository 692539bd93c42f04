/** Parses and prints the scopes of API tokens as in the option `--scopes`, for example `shop:read,write`. */
import { CANS, type Can } from "../../../shared/access/credentials/index.ts";
import { CommandError } from "../command/context.ts";

export interface Scope {
  orb: string;
  can: Can[];
}

const FORM = /^(?:(\*|[a-z][a-z0-9_-]{1,62}):)?([a-z]+(?:,[a-z]+)*)$/;
const isCan = (name: string): name is Can => (CANS as readonly string[]).includes(name);

/**
 * Parses scopes such as `read,write` or `shop:read,write blog:read`.
 * @param orb application of the scopes that do not begin with an id and a colon; `*` means all applications
 */
export function parseScopes(text: string, orb: string): Scope[] {
  const scopes = text
    .trim()
    .split(/\s+/)
    .map((one) => {
      const [, named = orb, list = ""] = FORM.exec(one) ?? [];
      return { orb: named, can: list.split(",") };
    });
  if (scopes.every((scope): scope is Scope => scope.can.every(isCan)))
    return scopes.map((scope) => ({ orb: scope.orb, can: CANS.filter((can) => scope.can.includes(can)) }));
  throw new CommandError(
    `--scopes must name ${CANS.join(", ")}, such as read,write or "shop:read,write blog:read" (is ${text}).`,
  );
}

/** Returns the text of scopes in the form that {@link parseScopes} reads. */
export function scopesText(scopes: readonly Scope[]): string {
  return scopes.map(({ orb, can }) => `${orb}:${can.join(",")}`).join(" ");
}

/** Describes scopes in words, such as `read and write in all orbs`. */
export function scopesInWords(scopes: readonly Scope[]): string {
  const list = new Intl.ListFormat("en");
  return list.format(
    scopes.map(({ orb, can }) => `${list.format(can)} in ${orb === "*" ? "all orbs" : orb}`),
  );
}

const LONGEST_DAYS = 365;

export function requireDays(days: number): void {
  if (!Number.isInteger(days) || days < 1 || days > LONGEST_DAYS)
    throw new CommandError(`--days must be a whole number from 1 to ${LONGEST_DAYS} (is ${days}).`);
}
