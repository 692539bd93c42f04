/** Adding to stored numbers: each request counts once, and tells its caller nothing that the caller may not read. */
import { expect, it } from "vitest";
import type { Actor } from "../../shared/access/actor.ts";
import type { OrbDocumentInput } from "../../shared/definition/document/document.ts";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/live.ts";
import { createEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { Conflict, type Store } from "../../shared/store/types.ts";
import {
  admin,
  failureOf,
  fileDeps,
  installOrb,
  storedValues,
  type TestDeps,
  user,
} from "../support/entries.ts";

const { broker, store, deps } = await fileDeps();

const document = (id: string, more: object = {}): OrbDocumentInput => ({
  id,
  modules: [
    {
      id: "bank",
      type: "CONTENT",
      schemas: [
        {
          id: "account",
          access: { read: "user", write: "user" },
          fields: [
            { name: "balance", type: "integer", max: 100 },
            { name: "name", type: "string", ...more },
          ],
        },
      ],
    },
  ],
});
const orb = await installOrb(broker.store("operator"), {
  ...document("bank"),
  uses: [{ service: "shop", handlers: ["order"], acts: ["entries:write"] }],
});

const open = async (by: LiveOrb = orb, owner = admin) => {
  const values = { balance: 41 };
  return (await createEntry(deps, owner, { orbId: by.orb, orb: by, module: "bank", values })).snapshot.id;
};
const add = (id: string, amount: number, more: object = {}, by: TestDeps = deps, actor: Actor = admin) =>
  updateEntry(by, actor, { orbId: "bank", orb, id, add: { balance: amount }, merge: true, ...more });
const valuesOf = async (id: string, of = "bank") => storedValues((await loadEntry(deps, of, id))?.head);

const ann = user("ann");
const token = (can: readonly ("read" | "write")[]): Actor => ({
  ...(ann as Extract<Actor, { kind: "orb" }>),
  token: { id: "t", scopes: [{ orb: "bank", can }] },
});
const handler: Actor = {
  kind: "handler",
  handler: "shop.order",
  orb: "bank",
  acts: ["entries:write"],
  caller: ann as Extract<Actor, { kind: "orb" }>,
  requestId: "r",
};

it.each([
  ["a token with the right to write", token(["write"]), "missing_scope"],
  ["a handler with the right to write", handler, "missing_act"],
  ["a token with the rights to read and write", token(["read", "write"]), "validation_failed"],
])("tells the stored number only to a caller that may read it: %s", async (_, actor, code) => {
  const id = await open(orb, ann);
  const refused = await failureOf(add(id, 1e12, {}, deps, actor));
  expect(refused.code).toBe(code);
  const reveals = JSON.stringify([refused.message, refused.errors]).includes("1000000000041");
  expect(reveals).toBe(code === "validation_failed");
  // Each of them may set the number.
  await updateEntry(deps, actor, { orbId: "bank", orb, id, values: { balance: 7 }, merge: true });
  expect(await valuesOf(id)).toEqual({ balance: 7 });
});

it("refuses values that are no object, as a patch without add does", async () => {
  const id = await open();
  for (const values of ["x", 1, null, ["x"]]) {
    const refused = await failureOf(add(id, 1, { values }));
    expect(refused.errors, JSON.stringify(values)).toMatchObject([{ path: "/values" }]);
  }
  expect(await valuesOf(id)).toEqual({ balance: 41 });
});

it("counts once if the definition changes, and another process changes the entry before a retry", async () => {
  await createOrb(deps, admin, { document: document("moved"), publish: true });
  const old = await requireLive(deps, "moved");
  const id = await open(old);
  await updateOrb(deps, admin, { orb: "moved", document: document("moved", { max: 9 }), publish: true });
  const log = subjects.entryLog({ orb: "moved", ...homeOf("CONTENT", "account"), id });
  let raced = false;
  /** Changes the entry as another process, right after the first write was stored or refused. */
  const race = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } finally {
      if (!raced) {
        raced = true;
        const current = await requireLive(deps, "moved");
        const other = { orbId: "moved", orb: current, id, values: { name: "b" }, merge: true };
        await updateEntry(deps, admin, other);
      }
    }
  };
  const racing: Store = {
    ...store,
    append: (stream, message) =>
      message.subject === log ? race(store.append(stream, message)) : store.append(stream, message),
    batch: (stream, messages) => race(store.batch(stream, messages)),
  };
  await updateEntry({ ...deps, store: { ...deps.store, ...racing } }, admin, {
    orbId: "moved",
    orb: old,
    id,
    add: { balance: 1 },
    merge: true,
  });
  expect(raced).toBe(true);
  expect(await valuesOf(id, "moved")).toEqual({ balance: 42, name: "b" });
});

it("is repeated as often as a batch", async () => {
  const id = await open();
  let left = 30;
  const refuse = (stream: string) => {
    if (stream === streams.orb("bank") && left-- > 0) throw new Conflict();
  };
  const conflicting: Pick<Store, "append" | "batch"> = {
    append: async (stream, message) => {
      if (!message.subject.includes("._guard.")) refuse(stream);
      return store.append(stream, message);
    },
    batch: async (stream, messages) => {
      refuse(stream);
      return store.batch(stream, messages);
    },
  };
  await add(id, 1, {}, { ...deps, store: { ...deps.store, ...conflicting } });
  expect(await valuesOf(id)).toEqual({ balance: 42 });
});
