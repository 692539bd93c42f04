import { describe, expect, it } from "vitest";
import { inBatches } from "../../shared/entry/index/batches.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { READ_BYTES, REQUEST_BYTES, ReadBudget, SMALL_BYTES } from "../../shared/store/budget.ts";
import { ReadSemaphore } from "../../shared/store/read-semaphore.ts";
import { TooMuch } from "../../shared/store/types.ts";

/** Reads messages of given sizes like a store. Counts reads, and the bytes of reads that were too large. */
function reader(budget: ReadBudget, sizes: readonly number[]) {
  const told = { reads: 0, wasted: 0 };
  const read = async (wanted: readonly number[], maxBytes: number) => {
    told.reads++;
    let bytes = 0;
    for (const [count, at] of wanted.entries()) {
      bytes += sizes[at] ?? 0;
      if (bytes <= maxBytes) continue;
      told.wasted += maxBytes;
      budget.charge(maxBytes);
      throw new TooMuch(count / wanted.length);
    }
    budget.charge(bytes);
    return bytes;
  };
  return { told, read };
}

async function readAll(sizes: readonly number[], at = 500) {
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const { told, read } = reader(budget, sizes);
  const wanted = sizes.map((_, i) => i);
  const got: number[] = [];
  for (let i = 0; i < wanted.length; i += at)
    for await (const part of inBatches(budget, wanted.slice(i, i + at), read)) got.push(...part.wanted);
  expect(got).toEqual(wanted);
  return told;
}

describe("partial reads", () => {
  it("take one read if all messages are small", async () => {
    expect(await readAll(Array(500).fill(600))).toEqual({ reads: 1, wasted: 0 });
  });

  it("adapt to the message size, so that few bytes are wasted", async () => {
    const told = await readAll(Array(500).fill(400_000));
    expect(told.wasted).toBeLessThanOrEqual(SMALL_BYTES);
    expect(told.reads).toBeLessThan(200);
  });

  it("grow again after large messages", async () => {
    const told = await readAll([...Array(20).fill(400_000), ...Array(5_000).fill(500)]);
    expect(told.reads).toBeLessThan(40);
  });

  it("return a message that is larger than a small read", async () => {
    expect((await readAll([SMALL_BYTES + 1])).reads).toBe(2);
  });
});

describe("read budget", () => {
  it("refuses a request that cannot end early, with advice", () => {
    const budget = new ReadBudget();
    budget.charge(REQUEST_BYTES - 1);
    budget.require();
    budget.charge(1);
    expect(() => budget.require("Ask for less.")).toThrow(/more than 16 MiB\. Ask for less\./);
  });
});

describe("shared room for large reads", () => {
  it("admits large reads in order up to its size, and small ones at any time", async () => {
    const room = new ReadSemaphore(2 * READ_BYTES);
    const order: number[] = [];
    const ends: (() => void)[] = [];
    const enter = (n: number) =>
      room.enter(READ_BYTES, async () => {
        order.push(n);
        await new Promise<void>((end) => ends.push(end));
      });
    const all = [0, 1, 2, 3].map(enter);
    await expect.poll(() => order).toEqual([0, 1]);
    expect(await room.enter(SMALL_BYTES, async () => "small")).toBe("small");
    expect(order).toEqual([0, 1]);
    ends[0]?.();
    await expect.poll(() => order).toEqual([0, 1, 2]);
    ends[1]?.();
    await expect.poll(() => order).toEqual([0, 1, 2, 3]);
    for (const end of ends) end();
    await Promise.all(all);
  });

  it("admits a read that is larger than the room", async () => {
    expect(await new ReadSemaphore(1).enter(READ_BYTES, async () => "read")).toBe("read");
  });

  it("frees its space when a read fails", async () => {
    const room = new ReadSemaphore(READ_BYTES);
    const failure = new AppError("timeout", "broker_timeout", "late");
    await expect(room.enter(READ_BYTES, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(await room.enter(READ_BYTES, async () => "read")).toBe("read");
  });

  it("gives the turns of an owner that leaves to the next reads", async () => {
    const room = new ReadSemaphore(READ_BYTES);
    const [reading, waiting] = [{}, {}];
    const never = new Promise<string>(() => undefined);
    void room.enter(READ_BYTES, () => never, reading);
    const refused = expect(room.enter(READ_BYTES, () => never, waiting)).rejects.toMatchObject({
      kind: "unavailable",
    });
    let done = false;
    const next = room.enter(READ_BYTES, async () => {
      done = true;
      return "read";
    });
    room.leave(waiting);
    await refused;
    expect(done).toBe(false);
    room.leave(reading);
    expect(await next).toBe("read");
  });
});
