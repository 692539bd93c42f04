/**
 * The definition changes after a verb has read it, and before the verb commits. No verb writes what the new definition
 * forbids.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { definitionFor, liveOrb, noLiveOrb } from "../../shared/definition/stored/live.ts";
import { setDamaged } from "../../shared/definition/stored/live-record.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  liveCopyOf,
  loadEntry,
  publishEntry,
  restoreEntry,
  revertEntry,
  type Target,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { archiveOrb, deleteOrb, unpublishOrb } from "../../shared/orb/operate.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import { cachedStore } from "../../shared/store/cache/cached-store.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Append, Store } from "../../shared/store/types.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { admin, failureOf, storedValues, type TestDeps, testDeps, user } from "../support/entries.ts";

let broker: TestBroker;
let deps: TestDeps;
let host: ReturnType<typeof cachedStore>;
beforeAll(async () => {
  broker = await startBroker();
  deps = testDeps(broker.store("fn"));
  host = cachedStore(openStore({ ...broker.access(), reconnect: true }), { replicas: 1, maxBytes: 1 << 20 });
});
afterAll(async () => {
  await host.store.close();
  await broker.stop();
});

const member = user("ann");
const document = (id: string, access: object = { read: "public", write: "user" }, more: object = {}) => ({
  id,
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", access, fields: [{ name: "title", type: "string", ...more }] }],
    },
  ],
});
const CLOSED = { read: "public", write: "owner" };
const publish = (orb: string, ...next: [access?: object, more?: object]) =>
  updateOrb(deps, admin, { orb, document: document(orb, ...next), publish: true });

/** The verbs without a body, and those with one. Each makes the entry fit for it, as its author. */
const VERBS: Record<
  string,
  { before: (at: Target) => Promise<unknown>; run: (on: TestDeps, at: Target) => Promise<unknown> }
> = {
  update: {
    before: async () => undefined,
    run: (on, at) => updateEntry(on, member, { ...at, values: { title: "late" } }),
  },
  "update and publish": {
    before: async () => undefined,
    run: (on, at) => updateEntry(on, member, { ...at, values: { title: "late" }, publish: true }),
  },
  publish: {
    before: (at) => updateEntry(deps, member, { ...at, values: { title: "second" } }),
    run: (on, at) => publishEntry(on, member, at),
  },
  unpublish: {
    before: (at) => publishEntry(deps, member, at),
    run: (on, at) => unpublishEntry(on, member, at),
  },
  archive: { before: async () => undefined, run: (on, at) => archiveEntry(on, member, at) },
  restore: { before: (at) => archiveEntry(deps, member, at), run: (on, at) => restoreEntry(on, member, at) },
  delete: { before: async () => undefined, run: (on, at) => deleteEntry(on, member, at) },
  revert: {
    before: (at) => updateEntry(deps, member, { ...at, values: { title: "second" } }),
    run: (on, at) => revertEntry(on, member, { ...at, revision: 1 }),
  },
};

/** The hosts, by what expects the fence. */
const HOSTS: [string, () => TestDeps][] = [
  ["one broker", () => deps],
  ["several brokers", () => ({ ...deps, config: { ...deps.config, replicas: 3 } })],
  ["a host with a cache", () => ({ ...testDeps(host.store), config: deps.config })],
];

/** Runs `act` once, before the first message that is sent to the orb's stream. */
function raced(
  on: TestDeps,
  orb: string,
  act: () => Promise<unknown>,
): { on: TestDeps; done: () => boolean } {
  let acting: Promise<unknown> | undefined;
  const first = async (stream: string) => {
    if (stream !== streams.orb(orb)) return;
    acting ??= act();
    await acting;
  };
  const { store } = on;
  const racing: Store = {
    ...store,
    async append(stream: string, message: Append) {
      await first(stream);
      return store.append(stream, message);
    },
    async pipeline(stream: string, messages: readonly Append[]) {
      await first(stream);
      return store.pipeline(stream, messages);
    },
    async batch(stream: string, messages: readonly Append[]) {
      await first(stream);
      return store.batch(stream, messages);
    },
  };
  return { on: { ...on, store: { ...store, ...racing } }, done: () => acting !== undefined };
}

let number = 0;
async function entryFor(verb: string, on: TestDeps): Promise<{ orb: string; id: string; at: Target }> {
  const orb = `verb-${++number}`;
  await createOrb(deps, admin, { document: document(orb), publish: true });
  const live = await inForce(orb);
  const made = await createEntry(deps, member, {
    orbId: orb,
    orb: live,
    module: "news",
    values: { title: "first" },
    publish: !["publish", "unpublish"].includes(verb),
  });
  const { id } = made.snapshot;
  await VERBS[verb]?.before({ orbId: orb, orb: live, id });
  const by = await definitionFor(on, orb);
  if (by === null) throw new Error("there is no such orb");
  // A route of a live orb renews its definition from live ones only.
  const renew = async () => {
    const now = await liveOrb(on, orb);
    if (now === null) throw noLiveOrb();
    return now;
  };
  return { orb, id, at: { orbId: orb, orb: by, id, renew } };
}

async function inForce(orb: string): Promise<LiveOrb> {
  const found = await definitionFor(deps, orb);
  if (found === null) throw new Error("there is no such orb");
  return found;
}

/** Returns the parts of an entry that readers can see: the state of its head, and its live copies. */
async function stateOf(orb: string, id: string) {
  const head = (await loadEntry(deps, orb, id))?.head;
  const { messages } = await deps.store.scan(streams.orb(orb), `${orb}.content.*.article.${id}`, {
    fromSeq: 1,
    limit: 100,
  });
  const live = messages.filter(({ subject }) => !subject.includes(".owner."));
  return {
    status: head?.status,
    values: head?.values,
    live: live.map((message) => [message.subject, liveCopyOf(message)?.revision]),
  };
}

/** Changes after which the author of an entry may no longer write it. */
const CHANGES: [string, (orb: string) => Promise<unknown>, string[]][] = [
  // A draft that its author can no longer write does not exist for them.
  ["lets only owners write", (orb) => publish(orb, CLOSED), ["forbidden", "entry_not_found"]],
  ["is unpublished", (orb) => unpublishOrb(deps, admin, { orb }), ["orb_not_found"]],
  ["is archived", (orb) => archiveOrb(deps, admin, { orb }), ["orb_not_found"]],
  ["has lost messages", (orb) => setDamaged(deps, orb, { from: 1, to: 2, at: "now" }), ["orb_damaged"]],
];

describe.each(HOSTS.map(([host, depsOf], hostAt) => ({ host, depsOf, hostAt })))(
  "with $host",
  ({ depsOf, hostAt }) => {
    describe.each(Object.keys(VERBS).map((verb, verbAt) => ({ verb, verbAt })))(
      "$verb",
      ({ verb, verbAt }) => {
        // The first host tries each verb with each change, and the others all of both.
        const changes = CHANGES.filter((_, at) => hostAt === 0 || at === (hostAt + verbAt) % CHANGES.length);
        const run = (on: TestDeps, at: Target) =>
          VERBS[verb]?.run(on, at) ?? Promise.reject(new Error("no verb"));

        test.each(changes)(
          "is refused and changes nothing if the orb %s before the commit",
          async (_, change, codes) => {
            const { orb, id, at } = await entryFor(verb, depsOf());
            const then = await stateOf(orb, id);
            const race = raced(depsOf(), orb, () => change(orb));
            expect(codes).toContain((await failureOf(run(race.on, at))).code);
            expect(race.done()).toBe(true);
            expect(await stateOf(orb, id)).toEqual(then);
          },
        );

        test("writes nothing to an orb that was deleted and recreated before the commit", async () => {
          const { orb, at } = await entryFor(verb, depsOf());
          const race = raced(depsOf(), orb, async () => {
            await deleteOrb(deps, admin, { orb });
            await createOrb(deps, admin, { document: document(orb), publish: true });
          });
          expect((await failureOf(run(race.on, at))).code).toBe("entry_not_found");
          expect(race.done()).toBe(true);
          const { messages } = await deps.store.scan(streams.orb(orb), `${orb}.content.>`, {
            fromSeq: 1,
            limit: 9,
          });
          expect(messages).toEqual([]);
        });
      },
    );

    test.each(["publish", "update and publish"])(
      "%s writes the live copy for the new readers if reading is narrowed before the commit",
      async (verb) => {
        const { orb, id, at } = await entryFor(verb, depsOf());
        const race = raced(depsOf(), orb, () => publish(orb, { read: "admin", write: "user" }));
        await VERBS[verb]?.run(race.on, at);
        expect(race.done()).toBe(true);
        const { live } = await stateOf(orb, id);
        const copies = live.filter(([, revision]) => revision !== undefined);
        expect(copies.map(([subject]) => subject)).toEqual([`${orb}.content.admin.article.${id}`]);
      },
    );

    test.each(["publish", "update and publish", "revert"])(
      "%s reserves the value if the field becomes unique before the commit",
      async (verb) => {
        const { orb, id, at } = await entryFor(verb, depsOf());
        const race = raced(depsOf(), orb, () => publish(orb, undefined, { unique: true }));
        await VERBS[verb]?.run(race.on, at);
        expect(race.done()).toBe(true);
        const title = storedValues((await loadEntry(deps, orb, id))?.head).title;
        const again = createEntry(deps, member, {
          orbId: orb,
          orb: await inForce(orb),
          module: "news",
          values: { title },
        });
        expect((await failureOf(again)).code).toBe("unique_conflict");
      },
    );

    describe("an update with If-Match that meets a new definition", () => {
      const change = (orb: string) => publish(orb, undefined, { max: 50 });

      test.each([{}, { idempotency: { key: "late", route: "PUT" } }])(
        "is written, and is no conflict, with %j",
        async (more) => {
          const { orb, id, at } = await entryFor("update", depsOf());
          const request = { ...at, ifMatch: 1, values: { title: "late" }, ...more };
          const race = raced(depsOf(), orb, () => change(orb));
          const made = await updateEntry(race.on, member, request);
          expect(race.done()).toBe(true);
          expect(made).toMatchObject({ replayed: false, snapshot: { values: { title: "late" } } });
          const again = updateEntry(depsOf(), member, request);
          if ("idempotency" in request) expect(await again).toMatchObject({ replayed: true, seq: made.seq });
          else expect((await failureOf(again)).code).toBe("revision_mismatch");
          expect((await loadEntry(deps, orb, id))?.seq).toBe(made.seq);
        },
      );

      test.each([true, false])(
        "is not taken for written if the process stops behind it (another write follows: %s)",
        async (isFollowed) => {
          const { orb, id, at } = await entryFor("update", depsOf());
          const request = {
            ...at,
            ifMatch: 1,
            values: { title: "late" },
            idempotency: { key: "k", route: "PUT" },
          };
          const race = raced(depsOf(), orb, () => change(orb));
          const renew = () => Promise.reject(new Error("stopped"));
          await expect(updateEntry(race.on, member, { ...request, renew })).rejects.toThrow("stopped");
          const now = { ...at, orb: await inForce(orb) };
          if (isFollowed) await updateEntry(deps, member, { ...now, values: { title: "other" } });
          const again = updateEntry(deps, member, { ...request, ...now });
          if (isFollowed) expect((await failureOf(again)).code).toBe("revision_mismatch");
          else
            expect(await again).toMatchObject({ replayed: false, snapshot: { values: { title: "late" } } });
          const title = isFollowed ? "other" : "late";
          expect((await stateOf(orb, id)).values).toEqual({ title });
        },
      );
    });
  },
);
