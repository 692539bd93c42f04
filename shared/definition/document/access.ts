/** Access rules of a document: who may read and write the entries of a schema. */
import { z } from "zod";
import { equal } from "../../kernel/json.ts";

/** Built-in roles from the least to the most powerful. Each has the rights of those before it. */
export const BUILT_IN_ROLES = ["public", "user", "admin", "owner"] as const;
export type BuiltInRole = (typeof BUILT_IN_ROLES)[number];

/** What can be allowed on entries. `authorize.ts` derives every operation on entries from these. */
export const ACTIONS = ["read", "create", "update", "publish", "delete"] as const;
export type Action = (typeof ACTIONS)[number];

/** The callers that a list of an access rule can name. */
const CALLERS = ["public", "user", "own", "admin", "owner"] as const;

function callers(description: string) {
  return z
    .array(z.enum(CALLERS))
    .min(1)
    .max(CALLERS.length)
    .refine((list) => new Set(list).size === list.length, {
      error: "must not name a caller twice",
      params: { code: "duplicate" },
    })
    .meta({ description });
}

export const accessSchema = z
  .strictObject({
    read: z
      .union(
        [z.enum(["public", "user", "own", "admin"]), callers("Who may read published entries.")],
        "must be public, user, own or admin, or a list of callers",
      )
      .optional()
      .meta({
        description:
          "public: everyone; user: signed-in users; own: its creator; admin: admins. Or a list of these and owner. Default: public for CONTENT and CONFIG, else admin.",
      }),
    write: z.enum(["user", "admin", "owner"]).optional().meta({
      description: "user: users can create entries and change their own; admin; owner. Default: admin.",
    }),
    create: callers("Who may create entries. Default: admin.")
      .refine((list) => !list.includes("own"), {
        error: "must not contain own, because a new entry has no creator yet. Use user.",
        params: { code: "not_applicable" },
      })
      .optional(),
    update: callers("Who may change entries and read drafts. Default: admin.").optional(),
    publish: callers("Who may publish and unpublish entries, and read drafts. Default: admin.").optional(),
    delete: callers("Who may archive, restore and delete entries. Default: admin.").optional(),
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

export type AccessDefinition = z.output<typeof accessSchema>;

/** The callers that may do each action, as a document names them, with all defaults filled in. */
export type AccessLists = Readonly<Record<Action, readonly string[]>>;

const ADMIN = ["admin"] as const;
/** The lists that the short form of `write` stands for. */
const WRITERS: Record<NonNullable<AccessDefinition["write"]>, Omit<AccessLists, "read">> = {
  user: { create: ["user"], update: ["own"], publish: ["own"], delete: ["own"] },
  admin: { create: ADMIN, update: ADMIN, publish: ADMIN, delete: ADMIN },
  owner: { create: ["owner"], update: ["owner"], publish: ["owner"], delete: ["owner"] },
};

/** Returns the lists of a schema's access rules, whichever form its document uses. */
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

/** Who may do something, in the one form that decisions use. */
export interface Grant {
  /** The lowest built-in role that may do it to every entry. Higher ones may too. */
  least: BuiltInRole;
  /** Whether signed-in users may do it to the entries that they created. */
  own: boolean;
}

/** Who may do each action on the entries of a schema. */
export type SchemaAccess = Readonly<Record<Action, Grant>>;

function compileGrant(names: readonly string[]): Grant {
  const own = names.includes("own");
  // Admins may do to every entry what its creator may do.
  const all = own ? [...names, "admin"] : names;
  return { least: BUILT_IN_ROLES.find((role) => all.includes(role)) ?? "owner", own };
}

export function compileAccess(lists: AccessLists): SchemaAccess {
  return {
    read: compileGrant(lists.read),
    create: compileGrant(lists.create),
    update: compileGrant(lists.update),
    publish: compileGrant(lists.publish),
    delete: compileGrant(lists.delete),
  };
}

/** Returns the least role that may do something, to its own entries at least. */
export function lowestRole(grant: Grant): BuiltInRole {
  return grant.own && grant.least !== "public" ? "user" : grant.least;
}

/** Access to entries whose schema the definition no longer has. */
export const ADMINS_ONLY = compileAccess({ read: ADMIN, ...WRITERS.admin });

/** Returns the readers of a schema's live copies. All of them may read every entry. */
export function liveRoleOf({ read }: SchemaAccess): "public" | "user" | "admin" {
  return read.least === "owner" ? "admin" : read.least;
}

/**
 * Returns the access rules as responses show them: in the short form if it says the same, and otherwise as lists.
 */
export function shownAccess(
  lists: AccessLists,
): { read: string | readonly string[]; write: string } | AccessLists {
  const { read, ...writing } = lists;
  const short = Object.entries(WRITERS).find(([, meant]) => equal(meant, writing))?.[0];
  const [only = "", ...others] = read;
  if (short === undefined || others.length > 0 || only === "owner") return lists;
  return { read: only, write: short };
}
