/**
 * Fields that became members of objects (`"from": { "fields": { "title": "metaTitle" } }`), and back. No entry is
 * rewritten: when a stored value is read, it is taken from where it was stored to where the document has it. A write
 * stores it there, and drops the other one. So an entry has the value in one place.
 */
import { type FieldDefinition, homeKey, movesOf, type OrbDocument } from "../document/index.ts";
import { type Conversion, conversionTo, isSameShape, meaningOf } from "./forms.ts";
import type { Meaning } from "./step.ts";
import {
  allStored,
  COMPONENTS,
  componentScope,
  type Identity,
  type Move,
  type NamedDocument,
  NameTable,
  type StoredNames,
  scopeWithin,
  storedHome,
} from "./stored-names.ts";

/** The fields of a schema, and the look-up of their stored names. */
export interface Listed {
  names: NameTable;
  /** Fields of the document's components, by the components' ids. */
  components: ReadonlyMap<string, readonly FieldDefinition[]>;
  scope: string;
  fields: readonly FieldDefinition[];
}

/** Where a document has the values of a field. */
export interface Location {
  /** Name of the field, such as `title` or `seo.title`. */
  path: string;
  definition: FieldDefinition;
  /** Whether it is a member of an object. */
  isMember: boolean;
}

const membersOf = ({ components }: Listed, { fields, component }: FieldDefinition) =>
  fields ?? (component === undefined ? [] : (components.get(component) ?? []));

/** A member of an object. */
interface Member extends Location {
  /** Scope of the object's fields. It changes if the object gets the fields of a component. */
  scope: string;
}

/** Returns the member that a field became. Undefined if the document does not have it. */
function memberOf(listed: Listed, move: Move): Member | undefined {
  const { names, scope, fields } = listed;
  for (const owner of fields) {
    if (owner.type !== "object" || !names.allStoredOf(scope, owner.name).includes(move.object)) continue;
    const inner = scopeWithin(names, scope, owner, "");
    const definition = membersOf(listed, owner).find(({ name }) =>
      names.allStoredOf(inner, name).includes(move.member),
    );
    if (definition !== undefined)
      return { path: `${owner.name}.${definition.name}`, definition, isMember: true, scope: inner };
  }
  return undefined;
}

/** Returns the field of an identity, if the document has it on its own. */
function ownField({ names, scope, fields }: Listed, identity: Identity): Location | undefined {
  const stored = allStored(identity);
  const definition = fields.find(({ name }) => stored.includes(names.storedOf(scope, name)));
  return definition && { path: definition.name, definition, isMember: false };
}

function locate(listed: Listed, identity: Identity): Location | undefined {
  const own = ownField(listed, identity);
  if (own !== undefined) return own;
  for (const move of (identity.moved ?? []).toReversed()) {
    const member = memberOf(listed, move);
    if (member !== undefined) return member;
  }
  return undefined;
}

/** Returns the fields of each schema of a document, by the schemas' homes. */
function listsOf(document: OrbDocument, names: NameTable): Map<string, Listed> {
  const components = new Map(document.components?.map(({ id, fields }) => [id, fields]));
  return new Map(
    document.modules.flatMap(({ type, schemas }) =>
      schemas.map(({ id, fields }) => {
        const scope = homeKey(storedHome(names, type, id));
        return [scope, { names, components, scope, fields }] as const;
      }),
    ),
  );
}

/**
 * Returns the stored names under which fields that moved may have values, if the document would give them to others: the
 * scope, a space, and the stored name of each. The removed fields whose members the document has must not come back as
 * other fields. The members of fields that the document has on their own must not come back as other members.
 * @param names the names that the document would have
 * @param part what of such a member is returned. The objects of a component may have a member of this name already. Then
 * only another object is none of those with the values.
 */
export function claimedNames(
  document: OrbDocument,
  before: NamedDocument,
  names: StoredNames,
  part: "member" | "object",
): Set<string> {
  const lists = listsOf(document, new NameTable(names));
  return new Set(
    Object.entries(before.names ?? {}).flatMap(([scope, identities]) =>
      identities.flatMap((identity) => {
        const listed = lists.get(scope);
        const { gone, moved = [], stored } = identity;
        if (listed === undefined) return [];
        const inside = moved.flatMap((move) => {
          const found = memberOf(listed, move);
          return found === undefined ? [] : [{ ...move, scope: found.scope }];
        });
        if (gone === true) return inside.length > 0 ? [`${scope} ${stored}`] : [];
        if (ownField(listed, identity) === undefined) return [];
        return inside.map(({ member, object, scope: within }) =>
          part === "member" ? `${within} ${member}` : `${scope} ${object}`,
        );
      }),
    ),
  );
}

/** Returns what the members are that fields of a document became: by the scope, a space, and the stored name of each field. */
export function membersBefore({ document, names }: NamedDocument): Map<string, Meaning> {
  const lists = listsOf(document, new NameTable(names));
  return new Map(
    Object.entries(names ?? {}).flatMap(([scope, identities]) =>
      identities.flatMap(({ gone, moved = [], stored }) => {
        const listed = lists.get(scope);
        const move = moved.at(-1);
        if (gone !== true || move === undefined || listed === undefined) return [];
        return memberOf(listed, move) === undefined ? [] : [[`${scope} ${stored}`, move.shape] as const];
      }),
    ),
  );
}

/**
 * Returns the stored names that members must not get to which fields move: the scope, a space, and the stored name of
 * each. Entries may still have the values of a member that was removed earlier, and those are not the field's. If other
 * objects have the member, its object must be another one instead.
 */
export function arrivedNames(document: OrbDocument, before: NamedDocument, names: StoredNames): Set<string> {
  const earlier = listsOf(before.document, new NameTable(before.names));
  const components = new Set(
    before.document.components?.flatMap(({ id, fields }) => {
      const known = new NameTable(before.names);
      const scope = componentScope(known.storedOf(COMPONENTS, id));
      return fields.flatMap(({ name }) =>
        known.allStoredOf(scope, name).map((stored) => `${scope} ${stored}`),
      );
    }),
  );
  return new Set(
    [...listsOf(document, new NameTable(names))].flatMap(([scope, listed]) => {
      const prior = earlier.get(scope);
      const moves = prior === undefined ? [] : newMoves(listed, prior);
      return moves.map(({ move }) => {
        const member = `${move.scope} ${move.member}`;
        return components.has(member) ? `${scope} ${move.object}` : member;
      });
    }),
  );
}

/** Returns the stored names with the fields that become members of objects. */
export function withMoves(
  document: OrbDocument,
  before: NamedDocument,
  names: Readonly<Record<string, readonly Identity[]>>,
): Record<string, readonly Identity[]> {
  const table = new NameTable(names);
  const earlier = listsOf(before.document, new NameTable(before.names));
  const out: Record<string, readonly Identity[]> = { ...names };
  for (const [scope, listed] of listsOf(document, table)) {
    const prior = earlier.get(scope);
    const moves = prior === undefined ? [] : newMoves(listed, prior);
    for (const { identity, move } of moves) {
      const others = (out[scope] ?? []).filter(({ stored }) => stored !== identity.stored);
      const moved = [...(identity.moved ?? []), move];
      out[scope] = [...others, { ...identity, gone: true, moved }];
    }
    const kept = out[scope]?.map((identity) => withoutShared(listed, identity));
    if (kept !== undefined) out[scope] = kept;
  }
  return out;
}

/** Forgets the members that a document has beside the field itself: from now on, each has values of its own. */
function withoutShared(listed: Listed, identity: Identity): Identity {
  if (identity.moved === undefined || ownField(listed, identity) === undefined) return identity;
  const { moved, ...rest } = identity;
  const left = moved.filter((move) => memberOf(listed, move) === undefined);
  return left.length === 0 ? rest : { ...rest, moved: left };
}

function newMoves(listed: Listed, prior: Listed): { identity: Identity; move: Move }[] {
  const { names, scope, fields } = listed;
  return fields.flatMap((owner) =>
    movesOf(owner).flatMap(([name, source]) => {
      const field = prior.fields.find((one) => one.name === source);
      const member = membersOf(listed, owner).find((one) => one.name === name);
      if (owner.type !== "object" || field === undefined || member === undefined) return [];
      const known = prior.names.identitiesIn(scope).find((one) => one.gone !== true && one.name === source);
      const identity = known ?? { stored: source, name: source };
      const inner = scopeWithin(names, scope, owner, "");
      const move: Move = {
        field: identity.stored,
        object: names.storedOf(scope, owner.name),
        member: names.storedOf(inner, name),
        scope: inner,
        shape: meaningOf(member),
      };
      const isNew = memberOf(prior, move) === undefined && ownField(listed, identity) === undefined;
      const isSame = isSameShape(field, member) && isSameShape(member, field);
      const isKnown = identity.moved?.some((one) => isSameMove(one, move)) === true;
      return isNew && isSame && !isKnown ? [{ identity, move }] : [];
    }),
  );
}

const isSameMove = (one: Move, other: Move) =>
  one.field === other.field &&
  one.object === other.object &&
  one.member === other.member &&
  one.scope === other.scope;

/** A field that moved between two documents. */
export interface MovedBetween {
  from: Location;
  to: Location;
  /** All stored names of the field, and of the objects that have its member. */
  roots: string[];
  /**
   * Whether values may be lost: the type of the field or of the member has changed meanwhile, or a rule makes the values of
   * the field or reads them.
   */
  mayLose: boolean;
  /** Whether values that are stored for the field on its own fit it, or are converted to what it is again. */
  fits: boolean;
}

/** Returns the new members that would have the values of fields which the document has beside them. */
export function sharedBetween(before: Listed, after: Listed): { own: Location; member: Location }[] {
  return before.names.identitiesIn(before.scope).flatMap((identity) => {
    const own = ownField(after, identity);
    if (own === undefined) return [];
    return (identity.moved ?? []).flatMap((move) => {
      const member = memberOf(before, move) === undefined ? memberOf(after, move) : undefined;
      return member === undefined ? [] : [{ own, member }];
    });
  });
}

/** Returns the fields of a schema that moved into objects or out of them. */
export function movedBetween(before: Listed, after: Listed): MovedBetween[] {
  return after.names.identitiesIn(after.scope).flatMap((identity) => {
    const { moved = [] } = identity;
    const [from, to] = [locate(before, identity), locate(after, identity)];
    if (moved.length === 0 || from === undefined || to === undefined) return [];
    if (from.isMember === to.isMember && (!from.isMember || from.path === to.path)) return [];
    const members = moved.map((move) => memberIdentity(after, move));
    return [
      {
        from,
        to,
        roots: [...allStored(identity), ...moved.map(({ object }) => object)],
        mayLose: [identity, ...members].some(({ forms }) => forms !== undefined) || isInRule(after, identity),
        fits:
          to.isMember ||
          moved.every(({ field, shape }) => field !== identity.stored || isSameShape(shape, to.definition)),
      },
    ];
  });
}

/** Returns whether a rule makes the values of a field, or makes others of them. */
const isInRule = ({ names, scope }: Listed, identity: Identity): boolean =>
  identity.made !== undefined || isRead({ names, scope }, identity);

/** Returns whether a rule makes others of a field. */
const isRead = ({ names, scope }: Pick<Listed, "names" | "scope">, identity: Identity): boolean =>
  names
    .identitiesIn(scope)
    .some(({ made }) =>
      Object.values(made?.sources ?? {}).some(({ stored }) => allStored(identity).includes(stored)),
    );

const identityOf = (names: NameTable, scope: string, stored: string): Identity =>
  names.identitiesIn(scope).find((one) => allStored(one).includes(stored)) ?? { stored, name: stored };
const memberIdentity = (listed: Listed, move: Move) =>
  identityOf(listed.names, memberOf(listed, move)?.scope ?? move.scope, move.member);

/** For each stored name of an identity, how its values become those under one of these names. */
type ByStored = ReadonlyMap<string, Conversion>;

const byStored = (identity: Identity, target: string, picks: boolean): ByStored =>
  new Map(
    allStored(identity).map((stored) => [stored, conversionTo(target, stored, identity.forms ?? [], picks)]),
  );

/** A member that a field became, and how to take values there and back. */
export interface CompiledMove extends Pick<Move, "field" | "object" | "member"> {
  readonly fields: ByStored;
  readonly objects: ByStored;
  readonly members: ByStored;
  /** Whether the document has the member. */
  readonly isInside: boolean;
}

/** A field of which some values are stored as those of a member, or reversed. */
export interface MovedField {
  /** Where the document has the values. */
  readonly path: string;
  /** Whether the document has the field on its own, or a rule reads it as it was then. */
  readonly isOwn: boolean;
  /** Stored names of the field. */
  readonly stored: readonly string[];
  /** The members that it became, newest first. */
  readonly moves: readonly CompiledMove[];
}

export function movedFields(listed: Listed): MovedField[] {
  const { names, scope } = listed;
  return names.identitiesIn(scope).flatMap((identity): MovedField[] => {
    if (identity.moved === undefined) return [];
    // A rule reads a removed field also where an object had it.
    const own = { path: `~${identity.name}`, isMember: false };
    const at = locate(listed, identity) ?? (isRead(listed, identity) ? own : undefined);
    if (at === undefined) return [];
    const moves = (identity.moved ?? []).toReversed().map((move) => ({
      field: move.field,
      object: move.object,
      member: move.member,
      fields: byStored(identity, move.field, names.picks),
      objects: byStored(identityOf(names, scope, move.object), move.object, names.picks),
      members: byStored(memberIdentity(listed, move), move.member, names.picks),
      isInside: memberOf(listed, move) !== undefined,
    }));
    return [{ path: at.path, isOwn: !at.isMember, stored: allStored(identity), moves }];
  });
}
