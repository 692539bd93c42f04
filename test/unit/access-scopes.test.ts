import { describe, expect, test } from "vitest";
import { type Actor, proposing } from "../../shared/access/actor.ts";
import {
  may,
  mayChange,
  mayOperate,
  principalIn,
  requireInRealm,
  requireMay,
  requireOperator,
  requireOwn,
  requireScope,
} from "../../shared/access/authorize.ts";
import {
  ACCOUNT_OPERATIONS,
  CHANGE_OPERATIONS,
  covers,
  EDITING_OPERATIONS,
  ENTRY_OPERATIONS,
  needOf,
  type Operation,
  PLATFORM_OPERATIONS,
  REALM_OPERATIONS,
  type Scope,
  USE_OPERATIONS,
} from "../../shared/access/credentials/operations.ts";
import { CANS } from "../../shared/access/credentials/rights.ts";
import { accessLists, compileAccess, NO_ROLES } from "../../shared/definition/document/access.ts";

const ALL: Operation[] = [
  ...ENTRY_OPERATIONS,
  ...CHANGE_OPERATIONS,
  ...EDITING_OPERATIONS,
  ...PLATFORM_OPERATIONS,
  ...REALM_OPERATIONS,
  ...ACCOUNT_OPERATIONS,
  ...USE_OPERATIONS,
];

const operator = (...scopes: Scope[]): Actor => ({
  kind: "platform",
  sub: "a",
  name: "",
  email: null,
  sid: "t",
  exp: 0,
  token: { id: "t", scopes },
});
const member = (realm: string, role: "owner" | "user", ...scopes: Scope[]): Actor => ({
  kind: "orb",
  realm,
  sub: "u",
  role,
  name: "",
  sid: "t",
  exp: 0,
  token: { id: "t", scopes },
});

const uses = { usesAccess: true, roles: NO_ROLES, grants: new Map(), schedules: new Map() };
const rights = (name: string) => ({ name, roles: NO_ROLES });
const rule = (read: "public" | "user" | "admin", write: "user" | "owner") =>
  compileAccess(accessLists("CONTENT", { access: { read, write } }));
const on = { access: rule("user", "user"), own: true };

function codeOf(act: () => void): string {
  try {
    act();
    return "allowed";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe("what an API token needs", () => {
  test("is known for every operation, and an unknown one needs a session", () => {
    for (const operation of ALL) {
      const need = needOf(operation);
      if (need === "session")
        expect(["editing", "programs", "sessions", "identities", "recovery"]).toContain(
          operation.split(".")[0],
        );
      else for (const can of need) expect(CANS).toContain(can);
    }
    expect(needOf("drop" as Operation)).toBe("session");
    expect(needOf("toString" as Operation)).toBe("session");
  });

  test.each(ENTRY_OPERATIONS)(
    "%s of an entry: exactly the token with its scope, in its orb alone",
    (operation) => {
      const need = needOf(operation);
      for (const can of CANS) {
        const owner = member("shop", "owner", { orb: "shop", can: [can] });
        const expected = need.includes(can);
        expect(may(principalIn(owner, "shop", uses), operation, on)).toBe(expected);
        const code = codeOf(() => requireMay(principalIn(owner, "shop", uses), operation, on));
        expect(code).toBe(expected ? "allowed" : "missing_scope");
        for (const orb of ["blog", "shop2"]) {
          const other = operator({ orb, can: [...CANS] });
          expect(may(principalIn(other, "shop", uses), operation, on)).toBe(false);
        }
        const everywhere = operator({ orb: "*", can: [can] });
        expect(may(principalIn(everywhere, "shop", uses), operation, on)).toBe(expected);
      }
    },
  );

  test("does not include the right to read what is public", () => {
    const open = { access: rule("public", "user"), own: false };
    const writer = member("shop", "user", { orb: "shop", can: ["write"] });
    expect(may(principalIn(writer, "shop", uses), "read", open)).toBe(false);
    expect(may(principalIn(writer, "blog", uses), "read", open)).toBe(false);
  });

  test("never exceeds the account's role", () => {
    const user = member("shop", "user", { orb: "shop", can: [...CANS] });
    const closed = { access: rule("admin", "owner"), own: true };
    for (const operation of ENTRY_OPERATIONS) {
      expect(may(principalIn(user, "shop", uses), operation, closed)).toBe(false);
      expect(codeOf(() => requireMay(principalIn(user, "shop", uses), operation, closed))).toBe("forbidden");
    }
    for (const operation of PLATFORM_OPERATIONS) expect(mayOperate(user, operation, "shop")).toBe(false);
    expect(codeOf(() => requireInRealm(user, rights("shop"), "users.read"))).toBe("forbidden");
  });

  test.each(PLATFORM_OPERATIONS)(
    "%s: the orb's scope for the orb, the scope * for the platform",
    (operation) => {
      const need = needOf(operation) as string[];
      for (const can of CANS) {
        const expected = need.length === 1 && need[0] === can ? "allowed" : "missing_scope";
        const here = operator({ orb: "shop", can: [can] });
        expect(codeOf(() => requireOperator(here, operation, "shop"))).toBe(expected);
        expect(codeOf(() => requireOperator(here, operation, "blog"))).toBe("missing_scope");
        expect(codeOf(() => requireOperator(here, operation))).toBe("missing_scope");
        const everywhere = operator({ orb: "*", can: [can] });
        expect(codeOf(() => requireOperator(everywhere, operation))).toBe(expected);
        expect(mayOperate(everywhere, operation, "shop")).toBe(expected === "allowed");
      }
      expect(codeOf(() => requireOperator(operator({ orb: "*", can: [...CANS] }), operation))).toBe(
        "allowed",
      );
    },
  );

  test("is the scope * for accounts that several orbs share, and for platform admins", () => {
    for (const operation of REALM_OPERATIONS) {
      const one = operator({ orb: "shop", can: ["manage"] });
      const every = operator({ orb: "*", can: ["manage"] });
      expect(codeOf(() => requireInRealm(one, rights("shop"), operation))).toBe("allowed");
      for (const realm of ["auth", "platform", "blog"]) {
        expect(codeOf(() => requireInRealm(one, rights(realm), operation))).toBe("missing_scope");
        expect(codeOf(() => requireInRealm(every, rights(realm), operation))).toBe("allowed");
      }
    }
  });

  test("lets a token see its account and end itself, change the account with manage, and never touch sessions", () => {
    const plain = member("shop", "user", { orb: "shop", can: ["read", "write", "publish"] });
    const manager = member("shop", "user", { orb: "shop", can: ["manage"] });
    for (const operation of ACCOUNT_OPERATIONS) {
      const codes = [plain, manager].map((actor) => codeOf(() => requireOwn(actor, "shop", operation)));
      expect([operation, ...codes]).toEqual(
        operation === "account.read" || operation === "tokens.current"
          ? [operation, "allowed", "allowed"]
          : needOf(operation) === "session"
            ? [operation, "session_required", "session_required"]
            : [operation, "missing_scope", "allowed"],
      );
    }
  });

  test("names the missing scope in the refusal", () => {
    const actor = operator({ orb: "shop", can: ["read"] });
    expect(() => requireScope(actor, "publish", "shop")).toThrow('{"orb":"shop","can":["publish"]}');
    expect(() => requireScope(actor, "audit.read")).toThrow('{"orb":"*","can":["manage"]}');
  });
});

test("propose writes into change sets, and nothing else", () => {
  const agent = operator({ orb: "shop", can: ["read", "propose"] });
  const [plain, inSet] = [agent, proposing(agent)].map((actor) => principalIn(actor, "shop", uses));
  if (plain === undefined || inSet === undefined) throw new Error("no principals");
  const sets = { access: [on.access], own: true, reviewers: [] };
  const changes = CHANGE_OPERATIONS.filter((operation) => mayChange(plain, operation, sets));
  expect(changes).toEqual(["changes.read", "changes.write", "changes.comment"]);
  const allowed = (principal: typeof plain) => ENTRY_OPERATIONS.filter((each) => may(principal, each, on));
  expect(allowed(plain)).toEqual(["read", "readDraft", "readRevisions"]);
  expect(allowed(inSet)).not.toContain("publish");
  expect(allowed(inSet)).not.toContain("unpublish");
  expect(allowed(inSet)).toContain("update");
  expect(codeOf(() => requireScope(agent, "call", "shop"))).toBe("missing_scope");
  expect(
    mayChange(principalIn(operator({ orb: "shop", can: ["write"] }), "shop", uses), "changes.write", sets),
  ).toBe(true);
  expect(covers([{ orb: "shop", can: ["write"] }], [{ orb: "shop", can: ["propose"] }])).toBe(true);
  expect(covers([{ orb: "shop", can: ["propose"] }], [{ orb: "shop", can: ["write"] }])).toBe(false);
});

test("covers compares scopes by orb, and * covers every orb", () => {
  const given: Scope[] = [
    { orb: "shop", can: ["read"] },
    { orb: "shop", can: ["write"] },
    { orb: "blog", can: ["manage"] },
  ];
  expect(covers(given, [{ orb: "shop", can: ["read", "write"] }])).toBe(true);
  expect(covers(given, [{ orb: "shop", can: ["manage"] }])).toBe(false);
  expect(covers(given, [{ orb: "*", can: ["read"] }])).toBe(false);
  expect(covers([{ orb: "*", can: ["read"] }], [{ orb: "news", can: ["read"] }])).toBe(true);
  expect(covers([{ orb: "*", can: ["read"] }], [{ orb: "*", can: ["read"] }])).toBe(true);
});
