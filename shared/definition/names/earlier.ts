/** The names in stored data for an earlier revision of a definition. */

import type { OrbDocument } from "../document/index.ts";
import { type Form, isConvertible, isSameShape } from "./forms.ts";
import { defaultOf, scopesIn } from "./resolve.ts";
import type { Meaning } from "./step.ts";
import {
  type Identity,
  isMadeUnder,
  type NamedDocument,
  NameTable,
  OWN_FORM,
  rootOf,
  type StoredNames,
} from "./stored-names.ts";

/**
 * Returns the identity of a field whose type changed while the schema had no entries, so that values of both types have
 * one stored name. The earlier type gets a form of its own. If it cannot show the current values, it is another field.
 */
function withOwnForm(
  identity: Identity,
  { was, is, place }: { was: Meaning; is: Meaning; place: Pick<Form, "language" | "market"> },
): Identity {
  const { stored, forms = [{ stored, ...is }] } = identity;
  const own = `${stored}${OWN_FORM}`;
  if (!isConvertible(is, was)) return { stored: own, name: identity.name };
  return { ...identity, stored: own, forms: [...forms, { stored: own, from: stored, ...place, ...was }] };
}

/**
 * Returns the names in stored data for a document of an earlier revision, so that it reads values that were stored under
 * the live definition. Each name stands for what it stood for then, whatever has its name now.
 * @param names the names of that revision
 * @param live the live definition
 */
export function pinnedNames(
  document: OrbDocument,
  names: StoredNames | undefined,
  live: NamedDocument,
): StoredNames {
  const [table, liveTable] = [new NameTable(names), new NameTable(live.names)];
  const scopes = scopesIn(document, (scope, name) => table.rootOf(scope, name));
  const liveScopes = scopesIn(live.document, (scope, name) => liveTable.rootOf(scope, name));
  const meanings = new Map(
    liveScopes.flatMap(({ scope, items }) =>
      items.map(({ name, meaning }) => [`${scope} ${liveTable.storedOf(scope, name)}`, meaning]),
    ),
  );
  const place = {
    language: defaultOf(live.document.languages, document.languages),
    market: defaultOf(live.document.markets, document.markets),
  };
  return Object.fromEntries(
    scopes.map(({ scope, items }) => {
      const known = live.names?.[scope] ?? [];
      const present = items.map(({ name, meaning }): Identity => {
        const root = table.rootOf(scope, name);
        const stored = table.storedOf(scope, name);
        const now = known.find((identity) => rootOf(identity) === root);
        const forms = now?.forms ?? table.formsOf(scope, name);
        const identity = {
          stored,
          name,
          ...(forms === undefined ? {} : { forms: [...forms] }),
          ...(now?.moved === undefined ? {} : { moved: now.moved }),
          ...(now?.made === undefined || !isMadeUnder(now, stored) ? {} : { made: now.made }),
        };
        const is = meanings.get(`${scope} ${stored}`);
        return meaning === undefined || is === undefined || isSameShape(meaning, is)
          ? identity
          : withOwnForm(identity, { was: meaning, is, place });
      });
      const roots = new Set(present.map(rootOf));
      const others = known.filter((identity) => identity.moved !== undefined && !roots.has(rootOf(identity)));
      return [scope, [...present, ...others.map((identity) => ({ ...identity, gone: true as const }))]];
    }),
  );
}
