/** Counts the reads of stored entries by a dry run. */
import { expect, test } from "vitest";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { tryUpdate } from "../../shared/orb/update.ts";
import { brokerTimeout } from "../../shared/store/client/pending-requests.ts";
import { streams } from "../../shared/store/subjects.ts";
import { admin, fileDeps, type TestDeps } from "../support/entries.ts";

const { deps } = await fileDeps();

const ORB = "dry-run";
const ENTRIES = 1_000;
const AT_ONCE = 50;

const withFields = (...fields: object[]) => ({
  id: ORB,
  modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields }] }],
});

async function seed(by: LiveOrb): Promise<void> {
  const one = (n: number) =>
    createEntry(deps, admin, {
      orbId: by.orb,
      orb: by,
      module: "news",
      schema: "article",
      values: { title: `title ${n}`, code: n < 2 ? "same" : `code ${n}`, note: n < 3 ? "x" : "long enough" },
    });
  for (let n = 0; n < ENTRIES; n += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => one(n + i)));
}

test("a dry run reads each entry once for all its questions, and the index in few pages, also if some are late", async () => {
  const [title, code, note] = ["title", "code", "note"].map((name) => ({ name, type: "string" }));
  await createOrb(deps, admin, { document: withFields(title ?? {}, code ?? {}, note ?? {}), publish: true });
  const by = await definitionFor(deps, ORB);
  if (by === null) throw new Error("there is no such orb");
  await seed(by);
  const late = new Set(["scan", "getMany"]);
  let scans = 0;
  let read = 0;
  const counting: TestDeps = {
    ...deps,
    store: {
      ...deps.store,
      async scan(stream, filter, options) {
        if (stream === streams.orb(ORB)) {
          // The first read of a page is answered too late.
          if (options.limit > 1 && late.delete("scan")) throw brokerTimeout();
          scans++;
        }
        return deps.store.scan(stream, filter, options);
      },
      async getMany(stream, wanted, options) {
        if (stream === streams.orb(ORB)) {
          if (late.delete("getMany")) throw brokerTimeout();
          read += wanted.length;
        }
        return deps.store.getMany(stream, wanted, options);
      },
    },
  };
  const rule = { convert: { cat: [{ var: "value" }, "!"] } };
  const document = withFields(
    { ...title, type: "text", from: rule },
    { ...code, unique: true },
    { ...note, min: 5 },
  );
  const { impact } = await tryUpdate(counting, admin, { orb: ORB, document, publish: true });
  expect(impact.duplicates).toMatchObject([{ field: "code", ids: [expect.anything(), expect.anything()] }]);
  expect(impact.invalid).toMatchObject([{ checked: ENTRIES, invalid: 3 }]);
  expect(impact.changes.find(({ field }) => field === "title")).toMatchObject({ values: ENTRIES });
  expect(late.size).toBe(0);
  expect(read).toBe(ENTRIES);
  expect(scans).toBeLessThan(5);
});
