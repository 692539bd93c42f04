import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { readUpload } from "../../functions/middleware/upload-body.ts";
import { failureOf } from "../support/entries.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A body that sends a number of bytes once per period. */
function sending(bytes: number, periodMs: number, times = Number.POSITIVE_INFINITY) {
  let sent = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, periodMs));
        if (sent++ < times) controller.enqueue(new Uint8Array(bytes));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

async function sizeOf(body: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const part of body) size += part.length;
  return size;
}

it("ends an upload that sends less than the least rate, or that pauses for a minute", async () => {
  for (const [body, leastRate] of [
    [sending(1, 50_000), 1_024],
    [sending(1_000, 1_000), 1_024],
    [sending(1_000_000, 70_000), 0],
  ] as const) {
    const failure = failureOf(sizeOf(readUpload(body, leastRate)));
    await vi.advanceTimersByTimeAsync(130_000);
    expect((await failure).code).toBe("body_incomplete");
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
  }
});

it("receives an upload that sends enough, whatever its pauses and the time of the consumer", async () => {
  async function* slowly(body: AsyncIterable<Uint8Array>) {
    for await (const part of body) {
      await new Promise((resolve) => setTimeout(resolve, 100_000));
      yield part;
    }
  }
  const all = Promise.all([
    sizeOf(readUpload(sending(100_000, 50_000, 3), 1_024)),
    sizeOf(readUpload(sending(1, 50_000, 3))),
    sizeOf(slowly(readUpload(sending(1, 10_000, 3), 1_024))),
  ]);
  await vi.advanceTimersByTimeAsync(400_000);
  expect(await all).toEqual([300_000, 3, 3]);
});

it("leaves no timer when the consumer stops reading", async () => {
  const parts = readUpload(sending(1, 1_000));
  const first = parts.next();
  await vi.advanceTimersByTimeAsync(1_000);
  expect((await first).value).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(vi.getTimerCount()).toBe(0);
});
