/** States of change sets, and which approvals count under review rules. */
import { describe, expect, test } from "vitest";
import type { Approval, ChangeSet } from "../../shared/changes/record/record.ts";
import { nextState, SET_STATES, type SetAct } from "../../shared/changes/record/states.ts";
import {
  isApproved,
  judgedRules,
  keptApprovals,
  requirePublishable,
  type SetContent,
} from "../../shared/changes/record/workflow.ts";
import { rolesOf } from "../../shared/definition/document/access.ts";
import { compileWorkflow, workflowSchema } from "../../shared/definition/document/workflow.ts";
import { AppError } from "../../shared/kernel/errors.ts";

type Rules = NonNullable<Parameters<typeof compileWorkflow>[0]>["review"];
const roles = rolesOf([{ id: "editor", name: "Editors" }]);
const orb = (...review: Rules) => ({ review: compileWorkflow({ review }, roles) });

const content: SetContent = {
  hash: "now",
  entries: 1,
  schemas: [{ module: "pages", schema: "page" }],
  authors: ["writer"],
};
const set = (...approvals: Approval[]): ChangeSet => ({
  v: 1,
  id: "1",
  title: "Sale",
  state: approvals.length === 0 ? "IN_REVIEW" : "APPROVED",
  revision: 1,
  createdAt: "2026-01-01T00:00:00.000Z",
  createdBy: "opener",
  changedAt: "2026-01-01T00:00:00.000Z",
  changedBy: "opener",
  approvals,
});
const approval = (by: string, more: Partial<Approval> = {}): Approval => ({
  by,
  role: "admin",
  at: "2026-01-01T00:00:00.000Z",
  hash: "now",
  ...more,
});

function codeOf(act: () => unknown): string {
  try {
    act();
    return "ok";
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

test.each([
  ["update", "OPEN IN_REVIEW APPROVED SCHEDULED", "OPEN IN_REVIEW APPROVED SCHEDULED"],
  ["edit", "OPEN IN_REVIEW APPROVED SCHEDULED", "OPEN IN_REVIEW APPROVED OPEN"],
  ["schedule", "OPEN IN_REVIEW APPROVED SCHEDULED", "SCHEDULED SCHEDULED SCHEDULED SCHEDULED"],
  ["unschedule", "SCHEDULED", "OPEN"],
  ["refuse", "SCHEDULED", "OPEN"],
  ["review", "OPEN APPROVED", "IN_REVIEW IN_REVIEW"],
  ["approve", "IN_REVIEW APPROVED", "APPROVED APPROVED"],
  ["reject", "IN_REVIEW APPROVED SCHEDULED", "OPEN OPEN OPEN"],
  ["publish", "OPEN IN_REVIEW APPROVED SCHEDULED", "PUBLISHED PUBLISHED PUBLISHED PUBLISHED"],
  ["revert", "PUBLISHED", "REVERTED"],
  ["close", "OPEN IN_REVIEW APPROVED SCHEDULED", "CLOSED CLOSED CLOSED CLOSED"],
] as const)("%s is possible in the states %s only", (act: SetAct, before: string, after: string) => {
  const possible = before.split(" ");
  const results = SET_STATES.map((state) => codeOf(() => nextState(state, act)));
  expect(results).toEqual(SET_STATES.map((state) => (possible.includes(state) ? "ok" : "wrong_state")));
  expect(
    SET_STATES.filter((state) => possible.includes(state)).map((state) => nextState(state, act)),
  ).toEqual(after.split(" "));
});

describe("an approval counts", () => {
  test.each([
    ["by a role that the rule names", orb({ by: ["admin"] }), approval("a"), 1],
    ["by a more powerful role", orb({ by: ["admin"] }), approval("a", { role: "owner" }), 1],
    ["not by a less powerful one", orb({ by: ["owner"] }), approval("a"), 0],
    ["by a role of the orb", orb({ by: ["editor"] }), approval("a", { role: "user", orbRole: "editor" }), 1],
    ["not by a user without it", orb({ by: ["editor"] }), approval("a", { role: "user" }), 0],
    ["not of other content", orb({ by: ["admin"] }), approval("a", { hash: "before" }), 0],
    ["by the author", orb({ by: ["admin"] }), approval("opener"), 1],
    [
      "not by the author, if the rule says so",
      orb({ by: ["admin"], notAuthor: true }),
      approval("opener"),
      0,
    ],
    ["nor by who wrote into the set", orb({ by: ["admin"], notAuthor: true }), approval("writer"), 0],
  ])("%s", (_, rules, given, expected) => {
    expect(judgedRules(rules, set(given), content).map(({ given }) => given)).toEqual([expected]);
    expect(isApproved(rules, set(given), content)).toBe(expected === 1);
  });
});

test("only rules about the entries in the set concern it", () => {
  const rules = orb(
    { by: ["admin"], module: "pages", schema: "page" },
    { by: ["admin"], module: "pages" },
    { by: ["admin"], module: "pages", schema: "text" },
    { by: ["admin"], module: "shop" },
  );
  expect(judgedRules(rules, set(), content)).toHaveLength(2);
  expect(judgedRules(rules, set(), { ...content, schemas: [] })).toEqual([]);
});

test.each([
  ["no rules, no approvals", orb(), set(), "ok"],
  ["no rules, an approval of other content", orb(), set(approval("a", { hash: "before" })), "approval_void"],
  ["an approval too few", orb({ by: ["admin"], approvals: 2 }), set(approval("a")), "approval_missing"],
  ["enough approvals", orb({ by: ["admin"], approvals: 2 }), set(approval("a"), approval("b")), "ok"],
  [
    "one of them void",
    orb({ by: ["admin"], approvals: 2 }),
    set(approval("a"), approval("b", { hash: "x" })),
    "approval_void",
  ],
  ["one rule of two", orb({ by: ["admin"] }, { by: ["owner"] }), set(approval("a")), "approval_missing"],
  ["a closed set", orb(), { ...set(), state: "CLOSED" as const }, "wrong_state"],
])("publication with %s: %s", (_, rules, of, code) => {
  expect(codeOf(() => requirePublishable(rules, of, content))).toBe(code);
});

test("a record keeps the approvals that rules need, and drops void and surplus ones", () => {
  const needed = Array.from({ length: 10 }, (_, at) => approval(`owner${at}`, { role: "owner" }));
  const surplus = Array.from({ length: 45 }, (_, at) => approval(`user${at}`, { role: "user" }));
  const rules = orb({ by: ["owner"], approvals: 10 }, { by: ["user"] });
  const kept = keptApprovals(
    rules,
    set(approval("void", { hash: "before" }), ...needed, ...surplus),
    content,
  );
  expect(kept.map(({ by }) => by)).toEqual([...needed, ...surplus.slice(5)].map(({ by }) => by));
  const few = set(approval("void", { hash: "before" }), ...needed);
  expect(keptApprovals(rules, few, content)).toEqual(few.approvals);
});

test("rules demand no more approvals than a record keeps", () => {
  const review = (rules: number) => Array.from({ length: rules }, () => ({ by: ["admin"], approvals: 10 }));
  expect(workflowSchema.safeParse({ review: review(5) }).success).toBe(true);
  for (const count of [6, 51])
    expect(workflowSchema.safeParse({ review: review(count) }).error?.issues).toMatchObject([
      { path: ["review"] },
    ]);
});
