/** Pages of a filter that matches very many messages are read one message at a time. They equal those that are counted. */
import { expect, test } from "vitest";
import { manyOf } from "../../shared/store/many.ts";
import { streams } from "../../shared/store/subjects.ts";
import { fileDeps, installOrb, SHOP } from "../support/entries.ts";
import { testRandom } from "../support/random.ts";

const { broker, store } = await fileDeps();
const operator = broker.store("operator");
const STREAM = streams.orb("shop");
const FILTER = "shop.kind.a.*";
const maxBytes = 1_000_000;
const SIZE = 45_000;
const PART = 5_000;

/** Stores messages, about half of which match the filter: close together at some places, and far apart at others. */
async function fill(of = SIZE): Promise<void> {
  const { below } = testRandom();
  let [kind, left] = ["a", 0];
  const subject = (n: number) => {
    if (left-- === 0) [kind, left] = [kind === "a" ? "b" : "a", below(below(3) === 0 ? 400 : 5)];
    return `shop.kind.${kind}.${n}`;
  };
  for (let at = 0; at < of; at += PART) {
    const messages = Array.from({ length: PART }, (_, n) => ({ subject: subject(at + n), data: "x" }));
    await operator.pipeline(STREAM, messages);
  }
}

const seqs = (page: { messages: { seq: number }[] }) => page.messages.map(({ seq }) => seq);
const count = () => store.scan(STREAM, FILTER, { fromSeq: 1, limit: 1, maxBytes });

test("pages read one by one equal those that the broker counts", async () => {
  await installOrb(operator, SHOP);
  for (let more = SIZE; manyOf(STREAM, FILTER) === undefined; more = PART) {
    await fill(more);
    await count();
  }
  const { below } = testRandom();
  const last = (await operator.streamInfo(STREAM))?.state.last_seq ?? 0;
  const first = seqs(await count())[0] ?? 0;
  const starts = [
    1,
    first,
    first + 1,
    last - 3,
    last,
    last + 1,
    ...Array.from({ length: 30 }, () => below(last)),
  ];
  for (const fromSeq of starts) {
    const limit = 1 + below(60);
    const counted = await store.scan(STREAM, FILTER, { fromSeq, limit, maxBytes });
    const walked = await store.scan(STREAM, FILTER, { fromSeq, limit, maxBytes, roughly: true });
    expect(seqs(walked), `from ${fromSeq}`).toEqual(seqs(counted));
    expect(walked.pending > 0, `from ${fromSeq}`).toBe(
      counted.pending > 0 || walked.messages.length === limit,
    );
  }
  const few = await store.scan(STREAM, FILTER, { fromSeq: 1, limit: 20, maxBytes: 5, roughly: true });
  expect(few.messages).toHaveLength(5);
});

test("messages are counted again if the first one has changed, or the stream is another one", async () => {
  const known = manyOf(STREAM, FILTER);
  await operator.append(STREAM, { subject: known?.first.subject ?? "", data: "again", rollup: true });
  const walk = () => store.scan(STREAM, FILTER, { fromSeq: 1, limit: 3, maxBytes, roughly: true });
  const counted = await walk();
  expect(counted.messages[0]?.seq).toBeGreaterThan(known?.first.seq ?? 0);
  expect(manyOf(STREAM, FILTER)?.first.seq).toBe(counted.messages[0]?.seq);
  await operator.deleteStream(STREAM);
  await installOrb(broker.store("operator"), SHOP);
  expect((await walk()).messages).toEqual([]);
  expect(manyOf(STREAM, FILTER)).toBeUndefined();
});
