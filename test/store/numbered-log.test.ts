/** Logs of numbered messages, spread over a stream in every way that writes could spread them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NumberedLog, type NumberedPage } from "../../shared/store/numbered-log.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Place } from "../../shared/store/types.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { installOrb, SHOP } from "../support/entries.ts";
import type { LookingStore } from "../support/looking.ts";

const STREAM = streams.orb("shop");

/** One read of a search returns at most 200 messages. A log of more needs several. */
const LONG = 210;

/** Messages of others before each message of the log. */
const LOGS: Record<string, { numbers: number[]; others: (index: number) => number; size?: number }> = {
  dense: { numbers: upTo(LONG), others: () => 0 },
  even: { numbers: upTo(LONG), others: () => 7 },
  late: { numbers: upTo(LONG), others: (index) => (index === 0 ? 2_000 : 1) },
  bursts: { numbers: upTo(LONG), others: (index) => (index % 100 === 50 ? 1_000 : 0) },
  exponential: { numbers: upTo(14), others: (index) => 2 ** index, size: 300_000 },
  large: { numbers: upTo(45), others: (index) => index % 5, size: 400_000 },
  mixed: { numbers: upTo(120), others: () => 2, size: -500_000 },
  imported: { numbers: [5, ...upTo(LONG).map((number) => number + 10_000)], others: () => 1 },
  "imported, large": { numbers: [5, ...upTo(40).map((n) => n + 1_000_000)], others: () => 1, size: 400_000 },
  single: { numbers: [1], others: () => 3 },
};

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe.each(Object.entries(LOGS))("a log that is %s", (_, { numbers, others, size = 0 }) => {
  let broker: TestBroker;
  let store: LookingStore;
  const subject = "shop.content.owner.note.0log";
  let last: Place;

  beforeAll(async () => {
    broker = await startBroker();
    store = broker.store("operator");
    await installOrb(store, SHOP);
    // With a negative size, every eighth message is large.
    const padding = (index: number) => "x".repeat(size < 0 ? (index % 8 === 0 ? -size : 10) : size);
    const messages = numbers.flatMap((number, index) => [
      ...Array.from({ length: others(index) }, () => ({
        subject: "shop.content.owner.note.0other",
        data: "x",
      })),
      { subject, data: JSON.stringify({ number, padding: padding(index) }) },
      { subject: "shop.content.owner.note.0other", data: "y" },
    ]);
    let seq = 0;
    for (let at = 0; at < messages.length; at += 50)
      seq = (await store.pipeline(STREAM, messages.slice(at, at + 50))).at(-1) ?? 0;
    last = { number: numbers.at(-1) ?? 0, seq: seq - 1 };
  });
  afterAll(() => broker?.stop());

  /** Each call reads with a new budget, as each request does. */
  function log(count = { reads: 0, bytes: 0 }) {
    const scan: typeof store.scan = async (...args) => {
      const page = await store.scan(...args);
      count.reads++;
      for (const message of page.messages) count.bytes += message.size;
      return page;
    };
    return new NumberedLog(
      { ...store, scan },
      {
        stream: STREAM,
        subject,
        last,
        parse: (message) => ({ ...message.json<{ number: number }>(), value: 0 }),
      },
    );
  }

  it("finds each message in a logarithmic number of reads", async () => {
    const wanted = numbers.filter((_, index) => index % 17 === 0 || index === numbers.length - 2);
    let most = 0;
    for (const number of wanted) {
      const count = { reads: 0, bytes: 0 };
      expect((await log(count).find(number))?.number).toBe(number);
      most = Math.max(most, count.reads);
      expect(count.bytes).toBeLessThan(16 * 1024 * 1024);
    }
    expect(most).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(last.seq)) + 2);
  });

  it("does not find a number that it lacks", async () => {
    expect(await log().find(last.number + 1)).toBeNull();
    for (const number of [1, 4, 6, 9_999]) {
      if (!numbers.includes(number)) expect(await log().find(number)).toBeNull();
    }
  });

  it("counts all messages", async () => {
    expect(await log().total()).toBe(numbers.length);
  });

  // Pages of one message take a read each, so only short logs are read that way.
  it.each(numbers.length < LONG ? [1, 50] : [7, 200])(
    "returns all messages in pages of %i, in both orders",
    async (limit) => {
      for (const order of ["ascending", "descending"] as const) {
        const all: number[] = [];
        let place: Place | undefined;
        for (let more = true; more; ) {
          const count = { reads: 0, bytes: 0 };
          const page: NumberedPage<number> =
            order === "ascending"
              ? await log(count).ascending(limit, place)
              : await log(count).descending(limit, place);
          expect(page.items.length).toBeGreaterThan(0);
          expect(page.items.length).toBeLessThanOrEqual(limit);
          expect(count.bytes).toBeLessThan(20 * 1024 * 1024);
          all.push(...page.items.map(({ number }) => number));
          ({ more } = page);
          place = page.items.at(-1);
        }
        expect(all).toEqual(order === "ascending" ? numbers : numbers.toReversed());
      }
    },
  );
});
