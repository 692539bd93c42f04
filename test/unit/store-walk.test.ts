/** Chains of single reads against a model: nothing is left out, whatever the distances, and whichever replica answers. */
import { expect, test } from "vitest";
import { chain } from "../../shared/store/broker/walk.ts";
import { CachedMessage } from "../../shared/store/client/message.ts";
import { testRandom } from "../support/random.ts";

const message = (seq: number) => new CachedMessage({ subject: "shop.kind.a", seq, time: 0 }, "");

/** Sequence numbers of messages: dense at some places, and far apart at others. */
function places({ below }: ReturnType<typeof testRandom>): number[] {
  const found: number[] = [];
  for (let seq = 1 + below(50); found.length < 200; seq += 1 + below(below(4) === 0 ? 300 : 3))
    found.push(seq);
  return found;
}

test("a chain returns the next messages, and whether any follow", async () => {
  const random = testRandom();
  const all = places(random);
  for (let i = 0; i < 40; i++) {
    const start = random.below((all.at(-1) ?? 0) + 20);
    const limit = random.below(80);
    const next = async (from: number) => {
      const seq = all.find((one) => one >= from);
      return seq === undefined ? null : message(seq);
    };
    const result = await chain(next, start, limit);
    const rest = all.filter((seq) => seq >= start);
    expect(result?.messages.map(({ seq }) => seq)).toEqual(rest.slice(0, limit));
    if (rest.length !== limit) expect(result?.ended).toBe(rest.length < limit);
  }
});

test("a chain that a lagging replica ends too early has no result", async () => {
  const random = testRandom();
  const all = places(random);
  for (let i = 0; i < 40; i++) {
    const behind = all.at(-1 - random.below(30)) ?? 0;
    const next = async (from: number) => {
      const seq = all.find((one) => one >= from && (one < behind || random.below(2) === 0));
      return seq === undefined ? null : message(seq);
    };
    const result = await chain(next, all.at(-60) ?? 0, 50);
    const asked = all.slice(-60, -10);
    const found = result?.messages.map(({ seq }) => seq) ?? asked;
    // What is returned is a beginning of the list in which only messages may be missing that a replica does not have.
    expect(asked.filter((seq) => seq < behind)).toEqual(found.filter((seq) => seq < behind));
    expect(found).toEqual(found.toSorted((a, b) => a - b));
  }
});
