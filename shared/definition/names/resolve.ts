/** Decides which name in a new document is which name in stored data. */
import { AppError } from "../../kernel/errors.ts";
import { equal } from "../../kernel/json.ts";
import {
  type FieldDefinition,
  type HomeKey,
  homeKey,
  isEntryRule,
  type OrbDocument,
  readsOf,
  ruleOf,
  SUBJECT_TYPES,
  schemaToken,
} from "../document/index.ts";
import { type Form, isConvertible, isLossless, isSameShape, meaningOf, originOf } from "./forms.ts";
import { type Before, isSameRule, madeOf, withReturned } from "./made.ts";
import { arrivedNames, claimedNames, membersBefore, withMoves } from "./moves.ts";
import type { Meaning } from "./step.ts";
import {
  allStored,
  COMPONENT,
  COMPONENTS,
  componentScope,
  countForms,
  type Identity,
  insideScope,
  isMadeUnder,
  MODULES,
  type NamedDocument,
  NameTable,
  rootOf,
  type StoredNames,
  schemasOf,
  storedHome,
} from "./stored-names.ts";

/** Earlier names that are kept of one identity. */
const EARLIER = 10;
/** Maximum identities, because each message of the application's history contains them. */
const MOST = 2_000;

/** A name in the document, and the names that the document says it had, newest first. */
interface Named {
  name: string;
  was: readonly string[];
  /** What determines how values are stored, if it is a field. */
  meaning?: Meaning;
  /** The rule that converts values which are stored before a change of type. */
  rule?: unknown;
}

/** A list of names in the document. */
interface Scope {
  scope: string;
  items: readonly Named[];
}

function wasOf({ was }: { was?: string | string[] | undefined }): readonly string[] {
  return was === undefined ? [] : typeof was === "string" ? [was] : was;
}

interface Known {
  /** What the previous document says about its names. */
  live: ReadonlyMap<string, Named>;
  identities: readonly Identity[];
  /** Where values without languages and markets belong. */
  place: Pick<Form, "language" | "market">;
  /** Whether no entry has values in the scope, so that a change of type needs no other stored name. */
  isEmpty: boolean;
  /** Returns what the member is that a field became, by the field's stored name. */
  memberOf: (stored: string) => Meaning | undefined;
  /** Returns whether the values under a stored name are those of a field that moved, so that no other field gets them. */
  isMoved: (stored: string) => boolean;
}

/** Returns the identity of each name in a scope. */
class Resolution {
  readonly #taken = new Set<Identity>();
  readonly #found = new Map<string, Identity>();
  readonly #known: Known;
  readonly #all: Identity[];
  /** All stored names. */
  readonly #stored: Set<string>;
  /** Stands between a name and a number in stored names. No name contains it. */
  readonly #separator: string;

  constructor(known: Known, separator: string) {
    this.#known = known;
    this.#separator = separator;
    const recorded = new Set(known.identities.flatMap(({ name, gone }) => (gone === true ? [] : [name])));
    const plain = [...known.live.keys()].filter((name) => !recorded.has(name));
    this.#all = [...known.identities, ...plain.map((name) => ({ stored: name, name }))];
    this.#stored = new Set(
      this.#all.flatMap(({ stored, forms = [] }) => [stored, ...forms.map((form) => form.stored)]),
    );
  }

  of(items: readonly Named[]): Identity[] {
    const { live } = this.#known;
    // A rename counts once: `was` may stay in the document, and then another field may get the earlier name.
    const fresh = ({ name, was }: Named) => was.filter((each) => live.get(name)?.was.includes(each) !== true);
    for (const item of items)
      this.#claim(
        item,
        fresh(item).filter((name) => name !== item.name),
        isNow,
      );
    for (const item of items) this.#claim(item, [item.name], isNow);
    // A document with an earlier name, or with the name of something that was removed, leads back to its values.
    const wasFree = (identity: Identity, name: string) =>
      wasEver(identity, name) && !(identity.gone === true && allStored(identity).some(this.#known.isMoved));
    for (const item of items) this.#claim(item, [item.name, ...item.was], wasFree);
    const present = items.map((item) => {
      const identity = this.#found.get(item.name);
      return identity === undefined
        ? this.#fresh(item.name)
        : renamed(item.name, this.#formed(item, identity));
    });
    const names = new Set(items.map(({ name }) => name));
    const rest = this.#all.filter(
      (identity) => !this.#taken.has(identity) && present.every(({ stored }) => stored !== identity.stored),
    );
    const gone = rest.filter((identity) => !isPlain(identity) || names.has(identity.stored));
    return this.#made(items, [...present, ...gone.map((identity) => ({ ...identity, gone: true as const }))]);
  }

  /** Returns the identities with the rules that make new fields of earlier ones. */
  #made(items: readonly Named[], all: readonly Identity[]): Identity[] {
    const { live, identities, place, isEmpty } = this.#known;
    const wasThere = (identity: Identity | undefined) => identity !== undefined && identity.gone !== true;
    const isFresh = ({ name }: Named) =>
      !wasThere(this.#found.get(name)) || all.some((one) => one.name === name && isRemade(one));
    const fresh = items.filter(isFresh);
    if (isEmpty || fresh.length === 0) return [...all];
    const before: Before = { meaning: (name) => live.get(name)?.meaning, identities, place };
    const returned = new Map<string, Meaning>();
    const made = new Map(
      fresh.flatMap(({ name, meaning, rule }) => {
        const identity = all.find((one) => one.gone !== true && one.name === name);
        if (identity === undefined || meaning === undefined) return [];
        const reads = readsOf(rule);
        if (reads.length === 0) returned.set(name, meaning);
        const earlier = identity.made;
        if (earlier?.rule !== undefined && reads.length > 0 && isSameRule(earlier, rule, before)) {
          const isForm = earlier.form === identity.stored;
          const kept = { ...earlier, ...(isForm ? { shape: meaningOf(meaning) } : {}) };
          return [[identity, { ...identity, made: kept }] as const];
        }
        const own = madeOf(identity.stored, meaning, rule, reads, before);
        return own === undefined ? [] : [[identity, { ...identity, made: own }] as const];
      }),
    );
    return withReturned(
      all.map((identity) => made.get(identity) ?? identity),
      returned,
      before,
    );
  }

  #claim(
    { name }: Named,
    names: readonly string[],
    test: (identity: Identity, name: string) => boolean,
  ): void {
    if (this.#found.has(name)) return;
    for (const each of names) {
      const found = this.#all.find((identity) => !this.#taken.has(identity) && test(identity, each));
      if (found === undefined) continue;
      this.#taken.add(found);
      this.#found.set(name, found);
      return;
    }
  }

  /** Returns a new identity. Its stored name is none that older values may have. */
  #fresh(name: string): Identity {
    const made = { stored: this.#unused(name), name };
    this.#all.push(made);
    this.#taken.add(made);
    return made;
  }

  #unused(name: string): string {
    for (let count = 1; ; count++) {
      const stored = count === 1 ? name : `${name}${this.#separator}${count}`;
      if (this.#stored.has(stored) || this.#known.isMoved(stored)) continue;
      this.#stored.add(stored);
      return stored;
    }
  }

  /** Returns the identity of a field with the stored name for its type. */
  #formed(item: Named, identity: Identity): Identity {
    const { live, place, isEmpty, memberOf } = this.#known;
    const { meaning: after } = item;
    const { stored, name, gone, forms } = identity;
    const member = memberOf(stored);
    const known = forms?.find((form) => form.stored === stored);
    const previous = gone === true ? undefined : live.get(name);
    const before = known ?? previous?.meaning ?? member;
    if (before === undefined || after === undefined) return identity;
    const kept = forms && {
      ...identity,
      forms: withForm(forms, { ...(known && originOf(known)), stored, ...after }),
    };
    // A rule counts once: it may stay in the document, and then the type may change in another way.
    const isNew = !equal(item.rule, previous?.rule);
    const isOfOthers = readsOf(item.rule).length > 0;
    const rule = isNew && !isOfOthers ? item.rule : undefined;
    const stays = isSameShape(before, after) && (rule === undefined || isSameShape(after, before));
    if (stays || isEmpty) return kept ?? identity;
    const all = forms ?? [{ stored, ...before }];
    const canBeMade = gone !== true && identity.made === undefined && isConvertible(before, after, item.rule);
    if (isNew && isOfOthers && canBeMade && !isEntryRule(item.rule))
      return this.#remade(identity, all, after, item.rule);
    const again = formAgain(all, { stored, known, after, rule });
    if (again === undefined && !isConvertible(before, after, rule)) return kept ?? identity;
    // The entries are checked for a removed field that is again what it was earlier, but not for one of a new type.
    const isBack =
      rule === undefined && (again !== undefined || member !== undefined || isLossless(before, after));
    if (gone === true && !isBack) return kept ?? identity;
    const form: Form =
      again === undefined
        ? {
            stored: this.#unused(rootOf(identity)),
            from: stored,
            ...place,
            ...after,
            ...(rule === undefined ? {} : { convert: rule }),
          }
        : { ...originOf(again), ...after };
    const next = again === undefined ? [...all, form] : withForm(all, form);
    const leadsBack = rule !== undefined && known !== undefined && known.from === form.stored;
    const { made, ...own } = identity;
    const formed = {
      ...own,
      stored: form.stored,
      forms: leadsBack ? withForm(next, { ...known, back: rule }) : next,
    };
    // The rule that made values of others has no meaning for the values from before it.
    return made !== undefined && isMadeUnder({ ...formed, made }, form.stored) ? { ...formed, made } : formed;
  }

  /** Returns the identity of a field with the stored name for the values that a new rule makes of several fields. */
  #remade(identity: Identity, all: readonly Form[], after: Meaning, rule: unknown): Identity {
    const { stored } = identity;
    const again = all.find(
      (form) => form.from === stored && equal(form.convert, rule) && isSameShape(form, after),
    );
    const form = again ?? {
      stored: this.#unused(rootOf(identity)),
      from: stored,
      ...this.#known.place,
      ...after,
      convert: rule,
    };
    return {
      ...identity,
      stored: form.stored,
      forms: again === undefined ? [...all, form] : withForm(all, { ...originOf(again), ...after }),
    };
  }
}

/** Returns whether a new rule makes the values of an existing field of several others. */
const isRemade = ({ stored, forms = [], made, gone }: Identity): boolean =>
  gone !== true &&
  made === undefined &&
  forms.some((form) => form.stored === stored && readsOf(form.convert).length > 0);

/**
 * Returns the form that a field had earlier and gets again.
 * @param change.rule the rule for this change: one for another way than back, or than on to the same form, makes a new
 *   form
 */
function formAgain(
  forms: readonly Form[],
  change: { stored: string; known: Form | undefined; after: Meaning; rule: unknown },
): Form | undefined {
  const { stored, known, after, rule } = change;
  // A rule that makes values of several fields counts only while the document has it.
  const isOfOthers = (form: Form) => form.from === stored && readsOf(form.convert).length > 0;
  const fits = (form: Form) =>
    (rule === undefined && !isOfOthers(form)) ||
    (isSameShape(after, form) &&
      (form.stored === known?.from || (form.from === stored && equal(form.convert, rule))));
  return forms.find((form) => form.stored !== stored && isSameShape(form, after) && fits(form));
}

const withForm = (forms: readonly Form[], form: Form): Form[] =>
  forms.map((one) => (one.stored === form.stored ? form : one));

function renamed(name: string, { stored, name: last, earlier = [], forms, moved, made }: Identity): Identity {
  const names = [...new Set(last === name ? earlier : [last, ...earlier])].filter((each) => each !== name);
  return {
    stored,
    name,
    ...(names.length === 0 ? {} : { earlier: names.slice(0, EARLIER) }),
    ...(forms === undefined ? {} : { forms }),
    ...(moved === undefined ? {} : { moved }),
    ...(made === undefined ? {} : { made }),
  };
}

const isNow = ({ name, gone }: Identity, wanted: string) => gone !== true && name === wanted;
const wasEver = ({ name, earlier = [] }: Identity, wanted: string) =>
  name === wanted || earlier.includes(wanted);
const isPlain = ({ stored, name, earlier = [], gone, forms, moved, made }: Identity) =>
  gone !== true &&
  stored === name &&
  earlier.length === 0 &&
  [forms, moved, made].every((one) => one === undefined);

/**
 * Returns the stored names of a document.
 * @param before the document that stored entries follow. Null if there are none yet
 * @param empty schemas without entries
 * @throws AppError conflict `too_many_removed`
 */
export function storedNames(
  document: OrbDocument,
  before: NamedDocument | null,
  empty: ReadonlySet<HomeKey> = new Set(),
): StoredNames | undefined {
  if (before === null) return undefined;
  const moved = new Set<string>();
  let resolved = resolvedNames(document, before, empty, moved);
  /** Resolves again without these names. Returns whether it did not know one of them. */
  const avoid = (names: ReadonlySet<string>): boolean => {
    const known = moved.size;
    for (const name of names) moved.add(name);
    if (moved.size === known) return false;
    resolved = resolvedNames(document, before, empty, moved);
    return true;
  };
  avoid(arrivedNames(document, before, resolved));
  for (const part of ["member", "object"] as const)
    while (avoid(claimedNames(document, before, resolved, part)));
  const names = withMoves(document, before, resolved);
  const count = Object.values(names).reduce((sum, { length }) => sum + length, countForms(names));
  if (count > MOST)
    throw new AppError(
      "conflict",
      "too_many_removed",
      `The orb has more than ${MOST} renamed modules, schemas, components and fields. Delete the entries of such a schema first, and remove the schema.`,
    );
  return count === 0 ? undefined : names;
}

/** @param moved names with values of fields that moved: the scope, a space, and the stored name */
function resolvedNames(
  document: OrbDocument,
  before: NamedDocument,
  empty: ReadonlySet<HomeKey>,
  moved: ReadonlySet<string>,
): Record<string, Identity[]> {
  const earlier = new NameTable(before.names);
  const all = scopesIn(before.document, (scope, name) => earlier.rootOf(scope, name));
  const live = new Map(
    all.map(({ scope, items }) => [scope, new Map(items.map((item) => [item.name, item]))]),
  );
  const place = {
    language: defaultOf(before.document.languages, document.languages),
    market: defaultOf(before.document.markets, document.markets),
  };
  const homes = homesIn(before.document, earlier);
  const isEmpty = (scope: string) =>
    scope.startsWith(COMPONENT)
      ? homes.every((home) => empty.has(home))
      : homes.some((home) => empty.has(home) && (scope === home || scope.startsWith(`${home}.`)));
  const members = membersBefore(before);
  const out: Record<string, Identity[]> = {};
  const resolved = new Map<string, Map<string, string>>();
  const resolve = ({ scope, items }: Scope) => {
    const known: Known = {
      live: live.get(scope) ?? new Map(),
      identities: before.names?.[scope] ?? [],
      place,
      isEmpty: isEmpty(scope),
      memberOf: (stored) => members.get(`${scope} ${stored}`),
      isMoved: (stored) => moved.has(`${scope} ${stored}`),
    };
    const identities = new Resolution(known, scope.startsWith("schemas/") ? "_" : "~").of(items);
    resolved.set(scope, new Map(identities.flatMap((one) => (one.gone ? [] : [[one.name, rootOf(one)]]))));
    const kept = identities.filter((identity) => !isPlain(identity));
    if (kept.length > 0) out[scope] = kept;
  };
  // The scope of each list has the stored name of its owner, so owners come first.
  scopesIn(document, (scope, name) => resolved.get(scope)?.get(name) ?? name, resolve);
  // Scopes of removed owners: if the owner comes back, its fields must have their stored names again.
  for (const [scope, identities] of Object.entries(before.names ?? {}))
    if (!resolved.has(scope)) out[scope] = [...identities];
  return out;
}

const homesIn = ({ modules }: OrbDocument, names: NameTable): HomeKey[] =>
  modules.flatMap(({ type, schemas }) => schemas.map(({ id }) => homeKey(storedHome(names, type, id))));

/** Returns the language or market to which values without any belong. The first one is the default. */
export const defaultOf = (before: readonly string[], after: readonly string[]): string | undefined =>
  after.find((key) => key === before[0]) ?? after[0] ?? before[0];

/** Returns the lists of names in a document. @param on is called with each list before the lists of what it names */
export function scopesIn(
  { modules, components = [] }: OrbDocument,
  rootIn: (scope: string, name: string) => string,
  on: (scope: Scope) => void = () => {},
): Scope[] {
  const all: Scope[] = [];
  const add = (scope: Scope) => {
    all.push(scope);
    on(scope);
  };
  const fields = (list: readonly FieldDefinition[], scope: string): void => {
    add({
      scope,
      items: list.map((field) => ({
        name: field.name,
        was: wasOf(field),
        meaning: meaningOf(field),
        rule: ruleOf(field),
      })),
    });
    for (const { name, fields: inside } of list)
      if (inside !== undefined) fields(inside, insideScope(scope, rootIn(scope, name)));
  };
  add({ scope: MODULES, items: modules.map((one) => ({ name: one.id, was: wasOf(one) })) });
  add({ scope: COMPONENTS, items: components.map((one) => ({ name: one.id, was: wasOf(one) })) });
  for (const type of new Set(modules.map((module) => module.type))) {
    const scope = schemasOf(type);
    const schemas = modules.filter((module) => module.type === type).flatMap((module) => module.schemas);
    add({
      scope,
      items: schemas.map((schema) => ({ name: schemaToken(schema.id), was: wasOf(schema).map(schemaToken) })),
    });
    for (const schema of schemas)
      fields(schema.fields, `${SUBJECT_TYPES[type]}/${rootIn(scope, schemaToken(schema.id))}`);
  }
  for (const { id, fields: list } of components) fields(list, componentScope(rootIn(COMPONENTS, id)));
  return all;
}
