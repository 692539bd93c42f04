/** Merges of the definition of a change set with the live one, if the orb has published another one since. */
import { describe, expect, it } from "vitest";
import { contentOf, publishSet, readingIn, writingInto } from "../../shared/changes/content/index.ts";
import { contextIn, definitionDiff } from "../../shared/changes/definition/index.ts";
import {
  definitionWithin,
  proposeDefinition,
  rebaseDefinition,
  tryProposal,
  withdrawDefinition,
} from "../../shared/changes/proposal/index.ts";
import { openSet, type ReadContent } from "../../shared/changes/review/index.ts";
import { requireLive } from "../../shared/definition/stored/index.ts";
import { createEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { namedEntry } from "../../shared/entry/model/index.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { subjects } from "../../shared/store/subjects.ts";
import { admin, callerIn, failureOf, fileDeps } from "../support/entries.ts";

const { deps } = await fileDeps();

type Field = Record<string, unknown> & { name: string };
const TITLE: Field = { name: "title", type: "string" };
const PRICE: Field = { name: "price", type: "integer" };
const BADGE: Field = { name: "badge", type: "string" };
const NOTE: Field = { name: "note", type: "string" };
/** Path of the fields of the schema. */
const AT = "/modules/news/schemas/article/fields";

const document = (id: string, fields: readonly Field[], more: object = {}) => ({
  id,
  modules: [
    { id: "news", type: "CONTENT", schemas: [{ id: "article", access: { read: ["public"] }, fields }] },
  ],
  ...more,
});

const readContent: ReadContent = (given, context, { id }) => contentOf(given, context, id);
let serial = 0;

/** An orb with the fields title and price, an entry, and an empty change set. */
async function shop() {
  const orb = `rebased-${++serial}`;
  await createOrb(deps, admin, { document: document(orb, [TITLE, PRICE]), publish: true });
  const live = () => requireLive(deps, orb);
  const made = await createEntry(deps, admin, {
    ...{ orbId: orb, orb: await live(), module: "news", values: { title: "Lamp", price: 5 }, publish: true },
  });
  const { id } = made.snapshot;
  const { set } = await openSet(
    deps,
    admin,
    { orbId: orb, orb: await live(), title: "Release" },
    readContent,
  );
  const target = { orb, set: set.id };
  const propose = (fields: readonly Field[], more?: object) =>
    proposeDefinition(deps, admin, { ...target, proposed: { document: document(orb, fields, more) } });
  return {
    propose,
    tried: (fields: readonly Field[]) =>
      tryProposal(deps, admin, { ...target, proposed: { document: document(orb, fields) } }),
    target,
    number: async () => (await definitionWithin(deps, admin, target)).revision,
    publishLive: (fields: readonly Field[], more?: object) =>
      updateOrb(deps, admin, { orb, document: document(orb, fields, more), publish: true }),
    diff: async () => {
      const found = await definitionDiff(deps, admin, await live(), set.id);
      if (found === null) throw new Error("no definition");
      return found;
    },
    rebase: (keep: Record<string, "change" | "live"> = {}) =>
      rebaseDefinition(deps, admin, { ...target, keep }),
    async write(values: object) {
      const context = await contextIn(deps, await live(), set.id);
      const to = await writingInto(deps, callerIn(admin, context), context, set.id);
      await updateEntry(to.deps, admin, { orbId: orb, orb: context, id, values, merge: true, into: to.into });
    },
    /** Returns the values of the entry as the set will leave them. */
    async preview() {
      const context = await contextIn(deps, await live(), set.id);
      const { deps: within } = await readingIn(deps, callerIn(admin, context), context, set.id);
      return namedEntry(context.compiled, await loadEntry(within, orb, id))?.head.values;
    },
    async publish() {
      await publishSet(deps, admin, { orbId: orb, orb: await live(), set: set.id });
      const { compiled, document: now } = await live();
      const { values } = namedEntry(compiled, await loadEntry(deps, orb, id))?.head ?? {};
      return { values, fields: now.modules[0]?.schemas[0]?.fields.map(({ name }) => name), name: now.name };
    },
    hash: async () => (await contentOf(deps, await live(), set.id)).hash,
  };
}

describe("the definition of a change set, after the orb has published another one", () => {
  it("is merged with what the orb has changed in other places", async () => {
    const one = await shop();
    await one.propose([TITLE, { ...PRICE, label: "Cost" }, BADGE]);
    await one.write({ badge: "new", price: 4 });
    await one.publishLive([{ ...TITLE, max: 50 }, PRICE, NOTE], { name: "Shop" });
    const diff = await one.diff();
    expect(diff).toMatchObject({ base: 1, now: 2, conflict: true, conflicts: [] });
    expect(diff.differences).toEqual([
      { path: `${AT}/price/label`, base: null, now: null, proposed: "Cost" },
      { path: `${AT}/badge`, base: null, now: null, proposed: expect.objectContaining(BADGE) },
    ]);
    // Another version of the document in the set does not take back what the orb has published.
    await one.propose([TITLE, { ...PRICE, label: "Costs" }, BADGE]);
    expect((await one.tried([TITLE, { ...PRICE, label: "Costs" }, BADGE])).summary.join()).not.toContain(
      "note",
    );
    expect(await failureOf(one.publish())).toMatchObject({ code: "definition_conflict" });
    const before = await one.hash();
    await one.rebase();
    // So approvals of the content before end.
    expect(await one.hash()).not.toBe(before);
    const after = await one.hash();
    await one.rebase();
    expect(await one.hash()).toBe(after);
    expect(await one.diff()).toMatchObject({ base: 2, now: 2, conflict: false, conflicts: [] });
    expect(await one.publish()).toEqual({
      values: { title: "Lamp", badge: "new", price: 4 },
      fields: ["title", "price", "note", "badge"],
      name: "Shop",
    });
  });

  it("needs a decision about each place that both have changed", async () => {
    const one = await shop();
    await one.propose([{ ...TITLE, max: 10, label: "Name" }, PRICE, BADGE]);
    await one.publishLive([{ ...TITLE, max: 50, label: "Heading" }, PRICE, { ...BADGE, type: "text" }]);
    const { conflicts, differences } = await one.diff();
    const paths = [`${AT}/title/label`, `${AT}/title/max`, `${AT}/badge/type`];
    expect(conflicts.toSorted()).toEqual(paths.toSorted());
    expect(differences).toContainEqual({ path: `${AT}/title/max`, base: null, now: 50, proposed: 10 });
    expect(differences).toContainEqual({
      path: `${AT}/badge/type`,
      base: null,
      now: "text",
      proposed: "string",
    });
    const open = await failureOf(one.rebase({ [`${AT}/title/max`]: "live" }));
    expect(open).toMatchObject({ code: "change_conflict" });
    expect(open.errors?.map(({ path }) => path).toSorted()).toEqual([
      `${AT}/badge/type`,
      `${AT}/title/label`,
    ]);
    const made = await one.rebase({
      [`${AT}/title/max`]: "live",
      [`${AT}/title/label`]: "change",
      [`${AT}/badge/type`]: "live",
    });
    const [title, , badge] = made.orb.document.modules[0]?.schemas[0]?.fields ?? [];
    expect([title, badge]).toMatchObject([{ max: 50, label: "Name" }, { type: "text" }]);
  });

  it("merges a rule as a whole", async () => {
    const one = await shop();
    const shown = (showIf: object) => [TITLE, { ...PRICE, showIf }];
    const isA = { "==": [{ var: "title" }, "a"] };
    await one.publishLive(shown(isA));
    await one.propose(shown({ "!": [{ var: "title" }] }));
    await one.publishLive(shown({ "==": [{ var: "title" }, "b"] }));
    expect((await one.diff()).conflicts).toEqual([`${AT}/price/showIf`]);
    const made = await one.rebase({ [`${AT}/price/showIf`]: "live" });
    expect(made.orb.document.modules[0]?.schemas[0]?.fields[1]?.showIf).toEqual({
      "==": [{ var: "title" }, "b"],
    });
  });

  it("follows fields through renames on both sides", async () => {
    const one = await shop();
    await one.propose([
      { ...TITLE, max: 50 },
      { ...PRICE, name: "cost", was: "price" },
    ]);
    await one.write({ title: "Desk lamp", cost: 4 });
    await one.publishLive([{ ...TITLE, name: "heading", was: "title" }, PRICE]);
    await one.publishLive([{ ...TITLE, name: "caption", was: "heading" }, PRICE]);
    expect((await one.diff()).conflicts).toEqual([]);
    await one.rebase();
    expect(await one.preview()).toEqual({ caption: "Desk lamp", cost: 4 });
    expect(await one.publish()).toMatchObject({
      values: { caption: "Desk lamp", cost: 4 },
      fields: ["caption", "cost"],
    });
  });

  it("asks which name stays if both have renamed a field, and which field stays if one has removed it", async () => {
    const one = await shop();
    await one.propose([
      { ...TITLE, name: "heading", was: "title" },
      { ...PRICE, max: 9 },
    ]);
    await one.publishLive([{ ...TITLE, name: "caption", was: "title" }]);
    const { conflicts, differences } = await one.diff();
    expect(conflicts).toEqual([`${AT}/title/name`, `${AT}/price`]);
    expect(differences).toContainEqual({
      ...{ path: `${AT}/price`, base: expect.objectContaining(PRICE), now: null },
      proposed: expect.objectContaining({ ...PRICE, max: 9 }),
    });
    await one.rebase({ [`${AT}/title/name`]: "live", [`${AT}/price`]: "live" });
    expect(await one.publish()).toMatchObject({ values: { caption: "Lamp" }, fields: ["caption"] });
  });

  it("finds no conflict in a secret that each side has encrypted anew", async () => {
    const one = await shop();
    const uses = [{ service: "access", handlers: ["passkey", "invitations", "bootstrap", "oauth"] }];
    const provider = { id: "one", issuer: "https://one.example", clientId: "c", clientSecret: "a secret" };
    const access = { uses, access: { providers: [provider] } };
    await one.publishLive([TITLE, PRICE], access);
    await one.propose([TITLE, PRICE, BADGE], access);
    await one.publishLive([TITLE, PRICE, NOTE], access);
    expect((await one.diff()).conflicts).toEqual([]);
    await one.rebase();
    expect((await one.publish()).fields).toEqual(["title", "price", "note", "badge"]);
  });

  it("keeps the values of fields that the set has added and renamed", async () => {
    const one = await shop();
    await one.propose([TITLE, PRICE, BADGE]);
    await one.write({ badge: "new" });
    await one.propose([TITLE, PRICE, { ...BADGE, name: "label", was: "badge" }]);
    await one.publishLive([TITLE, PRICE, NOTE]);
    await one.rebase();
    expect(await one.preview()).toMatchObject({ label: "new" });
    expect((await one.publish()).values).toMatchObject({ title: "Lamp", label: "new" });
  });

  it("is not merged if versions of entries in the set would show values of another field", async () => {
    const one = await shop();
    await one.propose([TITLE, PRICE, BADGE]);
    await one.write({ badge: "new" });
    await one.propose([TITLE, PRICE, { ...BADGE, name: "label", was: "badge" }]);
    await one.publishLive([TITLE, PRICE, BADGE]);
    expect(await failureOf(one.rebase())).toMatchObject({
      code: "definition_conflict",
      data: { name: "label" },
    });
  });

  it("is not merged if a rename in the set would take the values of another field", async () => {
    const one = await shop();
    await one.propose([{ ...TITLE, name: "heading", was: "title" }, PRICE]);
    await one.publishLive([{ ...TITLE, name: "caption", was: "title" }, PRICE]);
    await one.publishLive([{ ...TITLE, name: "caption" }, TITLE, PRICE]);
    expect(await failureOf(one.rebase({ [`${AT}/title/name`]: "change" }))).toMatchObject({
      code: "definition_conflict",
    });
  });

  it("is not merged if the set makes a field of one that the orb has renamed", async () => {
    const one = await shop();
    const head = (title: string): Field => ({
      ...{ name: "head", type: "object", fields: [TITLE] },
      from: { fields: { title } },
    });
    await one.propose([head("title"), PRICE]);
    await one.publishLive([{ ...TITLE, name: "caption", was: "title" }, PRICE]);
    const keep = { [`${AT}/title`]: "change" } as const;
    expect(await failureOf(one.rebase(keep))).toMatchObject({
      code: "definition_conflict",
      data: { name: "title" },
    });
    await one.propose([head("caption"), PRICE]);
    await one.rebase(keep);
    expect((await one.publish()).values).toEqual({ head: { title: "Lamp" }, price: 5 });
  });
});

describe("the number of a definition in a change set", () => {
  it("never comes again after the definition was taken out", async () => {
    const one = await shop();
    const first = (await one.propose([TITLE, PRICE, BADGE])).revision;
    await withdrawDefinition(deps, admin, one.target);
    await one.publishLive([TITLE, PRICE, NOTE]);
    const without = await one.number();
    expect(without).toBeGreaterThan(first);
    const proposed = { document: document(one.target.orb, [TITLE, PRICE, NOTE, BADGE]) };
    const write = (ifMatch: number) => proposeDefinition(deps, admin, { ...one.target, proposed, ifMatch });
    expect(await failureOf(write(first))).toMatchObject({ code: "revision_mismatch" });
    expect((await write(without)).revision).toBeGreaterThan(without);
    for (const max of [50, 60, 70, 80]) await one.publishLive([{ ...TITLE, max }, PRICE]);
    await withdrawDefinition(deps, admin, one.target);
    expect(await one.number()).toBe((await requireLive(deps, one.target.orb)).revision);
  });

  it("is compared with the version that a write replaces, if another one is stored meanwhile", async () => {
    const one = await shop();
    const { revision } = await one.propose([TITLE, PRICE, BADGE]);
    let isFirst = true;
    const store = new Proxy(deps.store, {
      get: (all, name) =>
        name === "get"
          ? async (...args: Parameters<typeof all.get>) => {
              if (isFirst && args[1] === subjects.changeContent(one.target.orb, one.target.set)) {
                isFirst = false;
                await one.propose([TITLE, PRICE, NOTE]);
              }
              return all.get(...args);
            }
          : Reflect.get(all, name),
    });
    const proposed = { document: document(one.target.orb, [TITLE, PRICE, BADGE]) };
    const late = proposeDefinition({ ...deps, store }, admin, { ...one.target, proposed, ifMatch: revision });
    expect(await failureOf(late)).toMatchObject({ code: "revision_mismatch" });
    const { orb } = await definitionWithin(deps, admin, one.target);
    expect(orb.document.modules[0]?.schemas[0]?.fields.map(({ name }) => name)).toContain("note");
  });
});
