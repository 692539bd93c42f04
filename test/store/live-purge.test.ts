/** Live lists that are read while an entry is purged. */
import { expect, it } from "vitest";
import { anonymous } from "../../shared/access/actor.ts";
import { createEntry, deleteEntry, unpublishEntry, updateEntry } from "../../shared/entry/index.ts";
import { type Change, changesFilter, changesIn } from "../../shared/entry/live/changes.ts";
import { effectOf, type ListView } from "../../shared/entry/live/judge.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Store, StoredMessage } from "../../shared/store/types.ts";
import { admin, fileOrb, readAs } from "../support/entries.ts";

const { store, deps, orb } = await fileOrb();
const schema = orb.compiled.schema("catalog", "note");
if (schema === undefined) throw new Error("no schema");
const { home } = schema;
const stream = streams.orb("shop");
const view: ListView = {
  reading: readAs(anonymous, orb, schema),
  query: parseListQuery([], schema, []),
  choice: choose(schema, {}),
};
const at = (id: string) => ({ orbId: "shop", orb, id });
const lastSeq = async () => (await store.streamInfo(stream))?.state.last_seq ?? 0;

/** The moments of a purge: before each of its three writes, and after the last one. */
const MOMENTS = [0, 1, 2, 3];

/** Purges an entry. Calls `during` before each write, and after the last one. */
async function purge(id: string, during: (moment: number) => Promise<void>): Promise<void> {
  let moment = 0;
  const append: Store["append"] = async (...message) => {
    if (message[0] === stream) await during(moment++);
    return store.append(...message);
  };
  const batch: Store["batch"] = async (...messages) => {
    await during(moment++);
    return store.batch(...messages);
  };
  const observed = { ...deps, store: { ...store, append, batch } };
  await deleteEntry(observed, admin, { ...at(id), purge: true });
  await during(moment);
  // The upkeep of indexes may append messages of its own.
  expect(moment).toBeGreaterThanOrEqual(MOMENTS.length - 1);
}

/** A client of a list. It reads messages, converts them to changes, and applies these, in separate steps. */
class Reader {
  readonly effects: unknown[] = [];
  #position: number;
  #messages: StoredMessage[] = [];
  #changes: Change[] = [];

  constructor(position: number) {
    this.#position = position;
  }

  async read(): Promise<void> {
    const from = { fromSeq: this.#position + 1, limit: 100, maxBytes: 1_000_000 };
    this.#messages = (await store.scan(stream, changesFilter("shop", home), from)).messages;
  }

  async convert(): Promise<void> {
    const options = { orb: "shop", home, from: this.#position, lags: false };
    this.#changes = await changesIn(store, this.#messages, options);
  }

  async apply(): Promise<void> {
    for (const change of this.#changes) {
      const effect = await effectOf(view, change, Date.now());
      if (effect !== undefined) this.effects.push(effect.type);
    }
    this.#position = this.#messages.at(-1)?.seq ?? this.#position;
  }
}

const published = async () => {
  const values = { text: "shown" };
  const made = { orbId: "shop", orb, module: "catalog", schema: "note", values, publish: true };
  return (await createEntry(deps, admin, made)).snapshot.id;
};

const draft = async (id: string) => updateEntry(deps, admin, { ...at(id), values: { text: "draft" } });

it.each([
  { name: "its newest revision", before: [], unread: [] },
  { name: "an older revision than its draft", before: [draft], unread: [] },
  { name: "a revision that was replaced later", before: [], unread: [draft] },
  {
    name: "a revision that was withdrawn later",
    before: [draft],
    unread: [(id: string) => unpublishEntry(deps, admin, at(id))],
  },
])("removes a purged entry that showed $name, whenever the client reads", async ({ before, unread }) => {
  for (const read of MOMENTS) {
    for (const convert of MOMENTS.slice(read)) {
      for (const apply of MOMENTS.slice(convert)) {
        const id = await published();
        for (const change of before) await change(id);
        const reader = new Reader(await lastSeq());
        for (const change of unread) await change(id);
        await purge(id, async (moment) => {
          if (moment === read) await reader.read();
          if (moment === convert) await reader.convert();
          if (moment === apply) await reader.apply();
        });
        await reader.read();
        await reader.convert();
        await reader.apply();
        const when = `read ${read}, converted ${convert}, applied ${apply}`;
        expect(reader.effects, when).toSatisfy((effects: string[]) =>
          effects.some((effect) => effect === "leave" || effect === "lost"),
        );
        expect(reader.effects, when).not.toContain("upsert");
      }
    }
  }
});
