/** Roles that an application defines, and access rules: who may read and write the entries of a schema. */
import { z } from "zod";
import { equal } from "../../kernel/json.ts";
import { ROLE_ID } from "./ids.ts";
import { words } from "./text.ts";

/** Built-in roles in ascending order. Each role includes the rights of the roles before it. */
export const BUILT_IN_ROLES = ["public", "user", "admin", "owner"] as const;
export type BuiltInRole = (typeof BUILT_IN_ROLES)[number];

/**
 * The actions on entries that a document can allow. `authorize.ts` derives the permission for every operation on
 * entries from these actions.
 */
export const ACTIONS = ["read", "create", "update", "publish", "delete"] as const;
export type Action = (typeof ACTIONS)[number];

/** The callers that every access rule can name, in addition to the application's roles and handlers. */
export const CALLERS: readonly string[] = ["public", "user", "own", "admin", "owner"];

/** Maximum number of roles that an application can define. */
export const MAX_ROLES = 50;

/** Ids that an application cannot give to a role, because they have another meaning in access rules or descriptions. */
const RESERVED: ReadonlySet<string> = new Set([...CALLERS, "platform", "anonymous", "system", "handler"]);

/**
 * The built-in roles that a role of an application can extend. A role also has all rights of the role that it
 * extends.
 */
const EXTENDED = ["user", "admin"] as const;
export type ExtendedRole = (typeof EXTENDED)[number];

/** The roles that an application defines. Maps the role id to the built-in role that the role extends. */
export type OrbRoles = ReadonlyMap<string, ExtendedRole>;

export const NO_ROLES: OrbRoles = new Map();

const ROLE_FORM = "must be 1 to 63 lower-case letters, digits or hyphens and begin with a letter";

export const rolesSchema = z
  .array(
    z
      .strictObject({
        id: z
          .string()
          .regex(ROLE_ID, ROLE_FORM)
          .refine((id) => !RESERVED.has(id), {
            error: "is a reserved role. Choose another id.",
            params: { code: "reserved" },
          })
          .meta({ description: "Role id, unique in the orb.", example: "editor" }),
        name: words.min(1).max(200).meta({ description: "Name for people.", example: "Editors" }),
        extends: z
          .enum(EXTENDED)
          .optional()
          .meta({ description: "The built-in role whose rights it has too. Default: user." }),
      })
      .meta({ id: "OrbRole", description: "A role of the orb's own." }),
  )
  .max(MAX_ROLES)
  .meta({ description: "Roles of the orb's own, beside user, admin and owner." });

/** Returns the roles of a document, keyed by role id. */
export function rolesOf(roles: z.output<typeof rolesSchema> | undefined): OrbRoles {
  return new Map(roles?.map((role) => [role.id, role.extends ?? "user"]));
}

/** Maximum number of handlers in one list of callers. */
const MAX_HANDLERS = 20;
/**
 * In a list of callers, `handler:<service>.<handler>` stands for a handler, no matter which user has called the
 * handler.
 */
const HANDLER = /^handler:[^.]+\.[^.]+$/;

const caller = z.string().refine((name) => ROLE_ID.test(name) || HANDLER.test(name), {
  error: "must be public, user, own, admin, owner, a role of the orb, or handler:<service>.<handler>",
  params: { code: "format" },
});

function callers(description: string) {
  return z
    .array(caller)
    .min(1)
    .max(CALLERS.length + MAX_ROLES + MAX_HANDLERS)
    .refine((list) => new Set(list).size === list.length, {
      error: "must not name a caller twice",
      params: { code: "duplicate" },
    })
    .meta({ description });
}

const SHORT_READERS = ["public", "user", "own", "admin"] as const;

export const accessSchema = z
  .strictObject({
    read: z
      .union(
        [z.enum(SHORT_READERS), callers("Callers who may read published entries.")],
        "must be public, user, own or admin, or a list of callers",
      )
      .optional()
      .meta({
        description:
          "public: everyone; user: signed-in users; own: its creator; admin: admins. Or a list of these, owner and roles of the orb. Default: public for CONTENT and CONFIG, else admin.",
      }),
    write: z.enum(["user", "admin", "owner"]).optional().meta({
      description: "user: users can create entries and change their own; admin; owner. Default: admin.",
    }),
    create: callers("Callers who may create entries. Default: admin.")
      .refine((list) => !list.includes("own"), {
        error: "must not contain own, because a new entry has no creator yet. Use user.",
        params: { code: "not_applicable" },
      })
      .optional(),
    update: callers("Callers who may change entries and read drafts. Default: admin.").optional(),
    publish: callers(
      "Callers who may publish and unpublish entries, and read drafts. Default: admin.",
    ).optional(),
    delete: callers("Callers who may archive, restore and delete entries. Default: admin.").optional(),
  })
  .refine(
    ({ write, create, update, publish, delete: remove }) =>
      write === undefined || [create, update, publish, remove].every((list) => list === undefined),
    {
      path: ["write"],
      error:
        "must not be given together with create, update, publish or delete. Remove write, or these lists.",
      params: { code: "conflicting" },
    },
  )
  .meta({ id: "OrbAccess", description: "Who may read and write the entries of a schema." });

export const fieldAccessSchema = z
  .strictObject({
    read: callers("Callers who may read the field. Default: all readers of the entry.").optional(),
    write: callers("Callers who may set the field. Default: all who may write the entry.").optional(),
  })
  .meta({
    id: "OrbFieldAccess",
    description: "Narrows who may read and set a field, among those who may read and write its entry.",
  });

export type AccessDefinition = z.output<typeof accessSchema>;

/** The callers who may perform each action, written as in a document, with all defaults filled in. */
export type AccessLists = Readonly<Record<Action, readonly string[]>>;

const ADMIN = ["admin"] as const;
/** For each short form of `write`, the access lists that it stands for. */
const WRITERS: Record<NonNullable<AccessDefinition["write"]>, Omit<AccessLists, "read">> = {
  user: { create: ["user"], update: ["own"], publish: ["own"], delete: ["own"] },
  admin: { create: ADMIN, update: ADMIN, publish: ADMIN, delete: ADMIN },
  owner: { create: ["owner"], update: ["owner"], publish: ["owner"], delete: ["owner"] },
};

/** Returns the access lists of a schema. Expands the short forms that its document may use. */
export function accessLists(
  type: string,
  { access = {} }: { access?: AccessDefinition | undefined },
): AccessLists {
  const { read = type === "CONTENT" || type === "CONFIG" ? "public" : "admin" } = access;
  const short = WRITERS[access.write ?? "admin"];
  return {
    read: typeof read === "string" ? [read] : read,
    create: access.create ?? short.create,
    update: access.update ?? short.update,
    publish: access.publish ?? short.publish,
    delete: access.delete ?? short.delete,
  };
}

/** The callers who may perform an action, in the form that authorization decisions use. */
export interface Grant {
  /**
   * Least powerful built-in role that may perform the action on every entry. More powerful roles may perform it too.
   * Null if only handlers may perform it.
   */
  least: BuiltInRole | null;
  /** Whether signed-in users may perform the action on entries that they created. */
  own: boolean;
  /**
   * Roles of the application that may perform the action on every entry, even if the built-in role that they extend
   * may not.
   */
  roles: readonly string[];
  /** Full names of handlers that may perform the action on every entry when they act for a caller. */
  handlers: readonly string[];
}

/** The callers who may perform each action on the entries of a schema. */
export type SchemaAccess = Readonly<Record<Action, Grant>>;

/**
 * Returns the least powerful built-in role that has all rights of a named role. The name `own` stands for users who
 * created the entry. It yields `admin`, because only admins may do the same on every entry.
 */
function above(name: string, roles: OrbRoles): BuiltInRole {
  if (name === "own") return "admin";
  const extended = roles.get(name);
  if (extended === undefined) return BUILT_IN_ROLES.find((role) => role === name) ?? "owner";
  return extended === "user" ? "admin" : "owner";
}

/** Returns the full names of the handlers in a list of callers. */
export function handlersIn(names: readonly string[]): string[] {
  return names.flatMap((name) => (name.startsWith("handler:") ? [name.slice("handler:".length)] : []));
}

function compileGrant(names: readonly string[], roles: OrbRoles): Grant {
  const handlers = handlersIn(names);
  const others = names.filter((name) => !name.startsWith("handler:"));
  const enough = others.map((name) => above(name, roles));
  return {
    least: BUILT_IN_ROLES.find((role) => enough.includes(role)) ?? null,
    handlers,
    own: names.includes("own"),
    roles: names.filter((name) => roles.has(name)),
  };
}

/** Returns the grant of a list of roles. */
export const roleGrant = (names: readonly string[], roles: OrbRoles): Grant => compileGrant(names, roles);

export function compileAccess(lists: AccessLists, roles: OrbRoles = NO_ROLES): SchemaAccess {
  return {
    read: compileGrant(lists.read, roles),
    create: compileGrant(lists.create, roles),
    update: compileGrant(lists.update, roles),
    publish: compileGrant(lists.publish, roles),
    delete: compileGrant(lists.delete, roles),
  };
}

/**
 * Returns the least powerful role that may perform an action, even if its accounts may do so only on entries that they
 * created. Returns `handler` if only handlers may perform the action.
 */
export function lowestRole({ least, own, roles }: Grant): string {
  if (least === null || least === "public" || least === "user") return least ?? "handler";
  return own ? "user" : (roles[0] ?? least);
}

/**
 * The callers who may read and set a field, among the callers who may access its entry. Undefined means all of them.
 */
export interface FieldAccess {
  readonly read: Grant | undefined;
  readonly write: Grant | undefined;
  /** The access to the field whose objects have the field, which also limits the access to the field. */
  readonly within?: FieldAccess;
}

const UNNARROWED: FieldAccess = { read: undefined, write: undefined };

/**
 * Returns the access to a field. A field without rules of its own gets the object that is given as `within`.
 * @param within the access to the field whose objects have the field
 */
export function compileFieldAccess(
  access: z.output<typeof fieldAccessSchema> | undefined,
  roles: OrbRoles = NO_ROLES,
  within: FieldAccess = UNNARROWED,
): FieldAccess {
  if (access === undefined) return within;
  const grant = (names: readonly string[] | undefined) =>
    names === undefined ? undefined : compileGrant(names, roles);
  return {
    read: grant(access.read),
    write: grant(access.write),
    ...(within === UNNARROWED ? {} : { within }),
  };
}

/** Access rules for entries whose schema is no longer in the definition. */
export const ADMINS_ONLY = compileAccess({ read: ADMIN, ...WRITERS.admin });

/**
 * Returns the group of readers for which published copies of a schema's entries are stored. Each reader in this group
 * may read every entry.
 */
export function liveRoleOf({ read }: SchemaAccess): "public" | "user" | "admin" {
  return read.least === null || read.least === "owner" ? "admin" : read.least;
}

/** Returns the access rules as responses show them: in the short form if it is equivalent, otherwise as lists. */
export function shownAccess(
  lists: AccessLists,
): { read: string | readonly string[]; write: string } | AccessLists {
  const { read, ...writing } = lists;
  const short = Object.entries(WRITERS).find(([, meant]) => equal(meant, writing))?.[0];
  const [only = "", ...others] = read;
  if (short === undefined || others.length > 0 || !SHORT_READERS.some((name) => name === only)) return lists;
  return { read: only, write: short };
}
