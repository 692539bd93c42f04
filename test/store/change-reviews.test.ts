/** The review of change sets. */
import { describe, expect, it } from "vitest";
import { type Actor, actorId } from "../../shared/access/actor.ts";
import { contentOf } from "../../shared/changes/content/content.ts";
import { requireSet } from "../../shared/changes/record/record.ts";
import { openSet } from "../../shared/changes/review/change.ts";
import { addComment, listComments, resolveComment } from "../../shared/changes/review/comments.ts";
import type { ReadContent } from "../../shared/changes/review/content.ts";
import { listSets } from "../../shared/changes/review/read.ts";
import { approveSet, rejectSet, requestReview } from "../../shared/changes/review/review.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { fileSets } from "../support/change-sets.ts";
import { countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import {
  admin,
  failureOf,
  installOrb,
  NO_QUOTAS,
  type TestDeps,
  testDeps,
  user,
} from "../support/entries.ts";

const { broker, deps, store } = await fileSets();

describe("the review of a set", () => {
  const read: ReadContent = (within, of, { id }) => contentOf(within, of, id);
  const empty: ReadContent = async () => ({ hash: "h", entries: 0, schemas: [], authors: [] });
  const contracts: ReadContent = async () => ({
    hash: "h",
    entries: 1,
    schemas: [{ module: "contracts", schema: "contract" }],
    authors: [],
  });
  const access = { read: ["public"], create: ["editor"], update: ["editor"], publish: ["editor"] };
  const law = installOrb(broker.store("operator"), {
    id: "law",
    uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
    roles: [
      { id: "editor", name: "Editors" },
      { id: "legal", name: "Lawyers" },
    ],
    workflow: { review: [{ by: ["legal"], module: "contracts" }] },
    modules: ["pages", "contracts"].map((id) => ({
      id,
      type: "CONTENT" as const,
      schemas: [{ id: id.slice(0, -1), access, fields: [{ name: "title", type: "string" as const }] }],
    })),
  });
  const of = { orbId: "law", orb: law };
  const named = (role: string): Actor => ({ ...user(role, "user", "law"), role }) as Actor;
  const [editor, legal] = [named("editor"), named("legal")];
  async function reviewing(): Promise<{ orbId: string; orb: typeof law; set: string }> {
    const { set } = await openSet(deps, admin, { ...of, title: "Sale" }, read);
    await requestReview(deps, admin, { ...of, set: set.id }, read);
    return { ...of, set: set.id };
  }
  const stateOf = async ({ set }: { set: string }) => (await requireSet(deps, "law", set)).set;
  const decided = async ({ set }: { set: string }) => {
    const { messages } = await store.scan(streams.platform, subjects.audit("law", "change"), {
      fromSeq: 1,
      limit: 100,
      maxBytes: 1_000_000,
    });
    const records = messages.map((message) => message.json<{ target: string; detail: string }>());
    return records.filter(({ target }) => target === set).map(({ detail }) => detail);
  };

  it.each([
    ["that no rule concerns, callers who may publish", empty, editor, legal],
    ["that a rule concerns, the accounts that it names", contracts, legal, editor],
  ])("lets decide on a set %s", async (_, content, may, mayNot) => {
    const set = await reviewing();
    expect((await failureOf(approveSet(deps, mayNot, set, content))).code).toBe("forbidden");
    expect((await approveSet(deps, may, set, content)).set.state).toBe("APPROVED");
    const rejection = { ...set, comment: "No" };
    expect((await failureOf(rejectSet(deps, mayNot, rejection, content))).code).toBe("forbidden");
    expect(await stateOf(set)).toMatchObject({ state: "APPROVED", approvals: [{ by: actorId(may) }] });
    expect((await rejectSet(deps, may, rejection, content)).set).toMatchObject({
      state: "OPEN",
      approvals: [],
    });
  });

  it("stores no decision without its record in the audit log", async () => {
    const set = await reviewing();
    const decisions = [
      ["approved", "APPROVED", (of: TestDeps) => approveSet(of, admin, set, empty)],
      ["rejected", "OPEN", (of: TestDeps) => rejectSet(of, admin, { ...set, comment: "No" }, empty)],
    ] as const;
    for (const [word, state, decide] of decisions) {
      for (let calls = 0, done = false; !done; calls++) {
        done = await decide({ ...deps, ...testDeps(stoppingStore(store, calls)) }).then(
          () => true,
          (error) => {
            if (error instanceof Stopped) return false;
            throw error;
          },
        );
        if ((await stateOf(set)).state === state) expect(await decided(set)).toContain(`${word} h`);
      }
    }
  });

  it("counts the bytes of its texts", async () => {
    const quotas = { ...NO_QUOTAS, accountBytes: 12_000 };
    const within = testDeps(store, { quotas });
    const open = (description: string) =>
      openSet(within, editor, { ...of, title: "Sale", description }, read);
    expect((await open("a".repeat(5_000))).set.state).toBe("OPEN");
    expect((await failureOf(open("\u6f22".repeat(5_000)))).code).toBe("too_many_bytes");
  });

  it("lists sets and comments page by page, without reading the names of all", async () => {
    const counted = countingStore(store);
    const within = testDeps(counted.store);
    await installOrb(broker.store("operator"), { ...(await law).document, id: "many" });
    const many = { orbId: "many", orb: { ...(await law), orb: "many" } };
    const everything = async <T extends { id: string }>(
      page: (after: number | undefined) => Promise<{ items: T[]; next: number | null }>,
    ) => {
      const ids: string[] = [];
      for (let after: number | null | undefined; after !== null; ) {
        const { items, next }: { items: T[]; next: number | null } = await page(after);
        expect(items.length).toBeLessThanOrEqual(2);
        ids.push(...items.map(({ id }) => id));
        after = next;
      }
      return ids;
    };
    const lists = async (more = {}) =>
      everything((after) => listSets(within, admin, { ...many, limit: 2, after, ...more }));
    expect(await lists()).toEqual([]);
    const sets: string[] = [];
    for (let at = 0; at < 5; at++)
      sets.push((await openSet(deps, admin, { ...many, title: "Sale" }, read)).set.id);
    const [first = "", second = ""] = sets;
    await requestReview(deps, admin, { ...many, set: second }, read);
    expect(await lists()).toEqual(sets.toReversed());
    expect(await lists({ state: "IN_REVIEW" })).toEqual([second]);
    const comments: string[] = [];
    for (let at = 0; at < 5; at++) {
      const comment = { ...many, set: first, text: "Why?", mentions: [] };
      comments.push((await addComment(deps, admin, comment)).id);
    }
    await resolveComment(deps, admin, { ...many, set: first, comment: comments[0] ?? "" });
    const found = await everything((after) =>
      listComments(within, admin, { ...many, set: first, limit: 2, after }),
    );
    expect(found).toEqual(comments);
    expect(counted.calls).not.toContain("subjects");
  });
});
