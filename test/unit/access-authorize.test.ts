import { describe, expect, test } from "vitest";
import {
  type Actor,
  type DirectActor,
  type HandlerActor,
  type OrbRights,
  type Role,
  scheduleActor,
} from "../../shared/access/actor.ts";
import {
  may,
  mayInRealm,
  mayOperate,
  principalIn,
  requireInRealm,
  requireMay,
} from "../../shared/access/authorize.ts";
import {
  ENTRY_OPERATIONS,
  type EntryOperation,
  PLATFORM_OPERATIONS,
  REALM_OPERATIONS,
} from "../../shared/access/credentials/operations.ts";
import { refusal } from "../../shared/access/refusals.ts";
import {
  ACTIONS,
  type AccessLists,
  type Action,
  ADMINS_ONLY,
  accessLists,
  compileAccess,
  NO_ROLES,
  type OrbRoles,
  type SchemaAccess,
  shownAccess,
} from "../../shared/definition/document/access.ts";

const ROLES: Role[] = ["public", "user", "admin", "owner"];
const WRITES = ENTRY_OPERATIONS.filter(
  (operation) => !["read", "create", "record", "reveal"].includes(operation),
);

/** Expected permissions in the order public, user, admin, owner, for entries of others and for own ones. */
type Row = [others: string, own: string];
type Read = "public" | "user" | "own" | "admin";
type Write = "user" | "admin" | "owner";
const READ: Record<Read, Row> = {
  public: ["yyyy", "yyyy"],
  user: ["nyyy", "nyyy"],
  own: ["nnyy", "nyyy"],
  admin: ["nnyy", "nnyy"],
};
const CREATE: Record<Write, Row> = {
  user: ["nyyy", "nyyy"],
  admin: ["nnyy", "nnyy"],
  owner: ["nnny", "nnny"],
};
const CHANGE: Record<Write, Row> = {
  user: ["nnyy", "nyyy"],
  admin: ["nnyy", "nnyy"],
  owner: ["nnny", "nnny"],
};

function row(operation: EntryOperation, access: SchemaAccess, own: boolean): string {
  return ROLES.map((role) => (may({ role }, operation, { access, own }) ? "y" : "n")).join("");
}

const reads = Object.keys(READ) as Read[];
const writes = Object.keys(CREATE) as Write[];
const short = (read: Read, write: Write) =>
  compileAccess(accessLists("CONTENT", { access: { read, write } }));

const mutable = (lists: Record<string, readonly string[]>) =>
  Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, [...list]]));

/** The operations that each action allows. Drafts and revisions are for those who update or publish. */
const OPERATIONS: Record<Action, readonly EntryOperation[]> = {
  read: ["read"],
  create: ["create", "record"],
  update: ["update", "readDraft", "readRevisions"],
  publish: ["publish", "unpublish", "readDraft", "readRevisions"],
  delete: ["delete", "archive", "restore"],
};

describe("entry permissions: role × operation × access × ownership", () => {
  for (const read of reads) {
    for (const write of writes) {
      for (const own of [false, true]) {
        const access = short(read, write);
        const column = own ? 1 : 0;
        test(`read ${read}, write ${write}, ${own ? "own entry" : "entry of another user"}`, () => {
          expect(row("read", access, own)).toBe(READ[read][column]);
          expect(row("create", access, own)).toBe(CREATE[write][column]);
          expect(row("record", access, own)).toBe(CREATE[write][column]);
          expect(row("reveal", access, own)).toBe("nnny");
          for (const operation of WRITES) expect(row(operation, access, own)).toBe(CHANGE[write][column]);
        });
      }
    }
  }

  test("a list allows its callers and every higher role, for each action alone", () => {
    const names = ["public", "user", "own", "admin", "owner"] as const;
    const rank = (name: string) => ROLES.indexOf(name as Role);
    for (let bits = 1; bits < 1 << names.length; bits++) {
      const list = names.filter((_, at) => (bits >> at) & 1);
      const expected = (own: boolean) =>
        ROLES.map((role) =>
          list.some((name) =>
            name === "own"
              ? rank(role) >= rank("admin") || (own && rank(role) >= rank("user"))
              : rank(role) >= rank(name),
          )
            ? "y"
            : "n",
        ).join("");
      for (const action of ACTIONS) {
        const nobody = Object.fromEntries(ACTIONS.map((each) => [each, ["owner"]])) as never;
        const access = compileAccess({ ...(nobody as AccessLists), [action]: list });
        for (const own of [false, true]) {
          const allowed = ENTRY_OPERATIONS.filter((operation) => OPERATIONS[action].includes(operation));
          for (const operation of allowed) expect(row(operation, access, own)).toBe(expected(own));
          for (const operation of ENTRY_OPERATIONS.filter((each) => !allowed.includes(each)))
            expect(row(operation, access, own)).toBe("nnny");
        }
      }
    }
  });

  test("a short form means the same as its lists", () => {
    for (const read of reads)
      for (const write of writes) {
        const lists = accessLists("CONTENT", { access: { read, write } });
        const { read: readers, ...writing } = lists;
        const long = { read: [...readers], ...mutable(writing) } as never;
        expect(accessLists("CONTENT", { access: long })).toEqual(lists);
        expect(shownAccess(lists)).toEqual({ read, write });
      }
    const lists = accessLists("CONTENT", { access: { update: ["user"] } });
    expect(shownAccess(lists)).toEqual(lists);
    expect(lists).toEqual({
      read: ["public"],
      create: ["admin"],
      update: ["user"],
      publish: ["admin"],
      delete: ["admin"],
    });
  });

  test("forbids unknown operations, roles and access values", () => {
    const grant = { least: "everybody", own: false, roles: [], handlers: [] };
    const access = { read: grant, create: grant, update: grant, publish: grant, delete: grant };
    for (const operation of ENTRY_OPERATIONS)
      expect(row(operation, access as SchemaAccess, true)).toBe("nnnn");
    const open = short("public", "user");
    expect(row("drop" as EntryOperation, open, true)).toBe("nnnn");
    expect(may({ role: "god" as Role }, "update", { access: open, own: true })).toBe(false);
  });
});

const anonymous: Actor = { kind: "anonymous" };
const operator: Actor = { kind: "platform", sub: "a", name: "", email: null, sid: "s", exp: 0 };
const member = (realm: string, role: string): Actor => ({
  kind: "orb",
  realm,
  sub: "u",
  role,
  name: "",
  sid: "s",
  exp: 0,
});

describe("roles in an orb", () => {
  const roles: OrbRoles = new Map([
    ["editor", "user"],
    ["chief", "admin"],
  ]);
  const own = { usesAccess: true, roles, grants: new Map(), schedules: new Map() };
  const shared = { usesAccess: false, roles: NO_ROLES, grants: new Map(), schedules: new Map() };
  test.each<[string, Actor, OrbRights, Role]>([
    ["an anonymous caller", anonymous, own, "public"],
    ["an anonymous caller, shared realm", anonymous, shared, "public"],
    ["a platform admin", operator, own, "owner"],
    ["a platform admin, shared realm", operator, shared, "owner"],
    ["the system", { kind: "system", sub: "system" }, own, "owner"],
    ["its own admin", member("shop", "admin"), own, "admin"],
    ["its own owner once it uses the shared realm", member("shop", "owner"), shared, "public"],
    ["another orb's owner", member("bank", "owner"), own, "public"],
    ["an owner of the shared realm", member("auth", "owner"), own, "public"],
    ["a user of the shared realm", member("auth", "user"), shared, "user"],
    ["an orb user of a realm named platform", member("platform", "owner"), own, "public"],
    ["an account whose role the orb no longer has", member("shop", "ghost"), own, "public"],
    ["an account with a role of another orb", member("bank", "editor"), own, "public"],
    ["an account with a role of a name that objects have", member("shop", "constructor"), own, "public"],
  ])("%s", (_, actor, uses, role) => {
    expect(principalIn(actor, "shop", uses)).toEqual({ actor, role });
  });

  test("a role of the orb has the rights of the role that it extends", () => {
    const editor = member("shop", "editor");
    expect(principalIn(editor, "shop", own)).toEqual({ actor: editor, role: "user", orbRole: "editor" });
    const chief = member("shop", "chief");
    expect(principalIn(chief, "shop", own)).toEqual({ actor: chief, role: "admin", orbRole: "chief" });
    expect(principalIn(member("auth", "editor"), "shop", shared).role).toBe("public");
  });

  test("a list that names a role allows it and every built-in role above it", () => {
    const callers = [
      { role: "public" },
      { role: "user" },
      { role: "user", orbRole: "editor" },
      { role: "user", orbRole: "author" },
      { role: "admin" },
      { role: "admin", orbRole: "chief" },
      { role: "owner" },
    ] as const;
    const known: OrbRoles = new Map([...roles, ["author", "user"]]);
    const allowed = (list: string[], mine = false) => {
      const access = compileAccess({ ...accessLists("CONTENT", {}), update: list }, known);
      return callers.map((caller) => (may(caller, "update", { access, own: mine }) ? "y" : "n")).join("");
    };
    expect(allowed(["editor"])).toBe("nnynyyy");
    expect(allowed(["chief"])).toBe("nnnnnyy");
    expect(allowed(["editor", "chief"])).toBe("nnynyyy");
    expect(allowed(["author", "own"])).toBe("nnnyyyy");
    expect(allowed(["author", "own"], true)).toBe("nyyyyyy");
    expect(allowed(["owner", "editor"])).toBe("nnynyyy");
    expect(allowed(["user", "editor"])).toBe("nyyyyyy");
    // A list that an older definition stored may name a role that is gone.
    expect(allowed(["ghost"])).toBe("nnnnnny");
  });

  test("a refusal names the roles of the orb that may", () => {
    const access = compileAccess({ ...accessLists("CONTENT", {}), update: ["editor"] }, roles);
    const user = { actor: member("shop", "user"), role: "user" } as const;
    expect(() => requireMay(user, "update", { access, own: false })).toThrow("the role editor or admin.");
  });

  test("answers anonymous callers as unauthenticated and others as forbidden", () => {
    expect(refusal(anonymous).kind).toBe("unauthenticated");
    expect(refusal(member("shop", "user")).kind).toBe("forbidden");
    const on = { access: ADMINS_ONLY, own: false };
    expect(() => requireMay({ actor: anonymous, role: "public" }, "read", on)).toThrow("signed in");
    expect(() => requireMay({ actor: member("shop", "user"), role: "user" }, "read", on)).toThrow("may not");
    expect(() => requireMay({ actor: operator, role: "owner" }, "read", on)).not.toThrow();
  });
});

test("lets only platform admins and the system operate the platform", () => {
  for (const operation of PLATFORM_OPERATIONS) {
    expect(mayOperate(operator, operation)).toBe(true);
    expect(mayOperate({ kind: "system", sub: "system" }, operation)).toBe(true);
    expect(mayOperate(anonymous, operation)).toBe(false);
    expect(mayOperate(member("shop", "owner"), operation)).toBe(false);
    expect(mayOperate(member("platform", "owner"), operation)).toBe(false);
  }
  expect(mayOperate(operator, "anything" as (typeof PLATFORM_OPERATIONS)[number])).toBe(false);
});

test("lets admins manage users, and only owners manage admins and owners", () => {
  for (const operation of REALM_OPERATIONS) {
    const writing = operation.endsWith("write");
    expect(ROLES.map((role) => mayInRealm(role, operation, "user"))).toEqual([false, false, true, true]);
    for (const target of ["admin", "owner"] as const) {
      expect(ROLES.map((role) => mayInRealm(role, operation, target))).toEqual([
        false,
        false,
        !writing,
        true,
      ]);
    }
  }
});

describe("handlers that act for a caller", () => {
  const grants = new Map([["shop.order", ["entries:read", "entries:write", "entries:reveal"] as const]]);
  const schedules = new Map([["nightly", "shop.order"]]);
  const orb = { usesAccess: true, roles: NO_ROLES, grants, schedules };
  const handler = (caller: DirectActor, acts: string[], more: object = {}): HandlerActor => ({
    kind: "handler",
    handler: "shop.order",
    orb: "shop",
    acts,
    caller,
    requestId: "r",
    ...more,
  });
  const all = ["entries:read", "entries:write", "entries:publish", "entries:reveal", "transactions:record"];
  const access = compileAccess(
    accessLists("CONTENT", {
      access: { read: ["user"], create: ["handler:shop.order"], update: ["own"], publish: ["admin"] },
    }),
  );
  const allowed = (actor: HandlerActor, own = false) => {
    const principal = principalIn(actor, "shop", orb);
    return ENTRY_OPERATIONS.filter((operation) => may(principal, operation, { access, own }));
  };

  test("have what the caller, the credential and the orb allow, and what the schema allows them", () => {
    const user = member("shop", "user") as DirectActor;
    expect(allowed(handler(user, all))).toEqual(["read", "create", "reveal"]);
    expect(allowed(handler(user, all), true)).toEqual([
      "read",
      "readDraft",
      "readRevisions",
      "create",
      "update",
      "reveal",
    ]);
    expect(allowed(handler(user, ["entries:read"]), true)).toEqual(["read", "readDraft", "readRevisions"]);
    expect(allowed(handler(user, []), true)).toEqual([]);
    expect(allowed(handler({ kind: "anonymous" }, all), true)).toEqual(["create"]);
    expect(allowed(handler(user, all, { handler: "shop.other" }), true)).toEqual([]);
  });

  test("have no rights of their own in a realm, on the platform, or in another orb", () => {
    const actor = handler(operator as DirectActor, all);
    expect(principalIn(actor, "bank", orb)).toEqual({ actor, role: "public" });
    expect(principalIn(actor, "shop", orb).role).toBe("owner");
    for (const operation of PLATFORM_OPERATIONS) expect(mayOperate(actor, operation)).toBe(false);
    for (const realm of ["shop", "auth", "platform"]) {
      expect(() => requireInRealm(actor, { name: realm, roles: NO_ROLES }, "users.read")).toThrow("may not");
    }
  });

  test("have exactly the acts that the orb grants, if a schedule of the orb calls them", () => {
    const nightly = scheduleActor("shop", "nightly");
    const granted = ["read", "readDraft", "readRevisions", "create", "reveal"];
    expect(allowed(handler(nightly, all))).toEqual(expect.arrayContaining(granted));
    expect(allowed(handler(nightly, all))).not.toContain("publish");
    expect(allowed(handler(nightly, ["entries:read"]))).toEqual(["read", "readDraft", "readRevisions"]);
    const nothing: HandlerActor[] = [
      handler(nightly, all, { handler: "shop.other" }),
      handler(nightly, all, { orb: "bank" }),
      handler(scheduleActor("shop", "removed"), all),
    ];
    for (const actor of nothing) {
      expect(principalIn(actor, "shop", orb).role).toBe("public");
      for (const operation of PLATFORM_OPERATIONS) expect(mayOperate(actor, operation)).toBe(false);
    }
    expect(principalIn(nightly, "shop", orb).role).toBe("public");
  });

  test("alone satisfy an access rule that names them", () => {
    const on = { access, own: true };
    for (const role of ROLES) expect(may({ role }, "create", on)).toBe(false);
    const owner = principalIn(member("shop", "owner"), "shop", orb);
    expect(() => requireMay(owner, "create", on)).toThrow("Call shop.order instead");
    expect(() => requireMay(principalIn(anonymous, "shop", orb), "create", on)).toThrow("shop.order");
  });
});
