/** Writes of one entry that take turns. Timers are fake, so no turn comes or expires by itself. */
import { beforeEach, expect, it, vi } from "vitest";
import { inTurn } from "../../shared/entry/write/turns.ts";

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

it("come in their order, and look less often the longer their queue is", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: number[] = [];
  const held = inTurn(["a"], () => promise);
  // A spy of the fake timers would bring them back after the file, for all files of the worker.
  const { setTimeout: pause } = globalThis;
  let looks = 0;
  globalThis.setTimeout = Object.assign((...args: Parameters<typeof pause>) => {
    looks += 1;
    return pause(...args);
  }, pause);
  const all = Array.from({ length: 1_000 }, (_, n) => inTurn(["a"], async () => void order.push(n)));
  await vi.advanceTimersByTimeAsync(200);
  globalThis.setTimeout = pause;
  expect(looks).toBeLessThan(4_000);
  resolve();
  // Not until no timer is left: a loop that an earlier file of this worker began would set one after the other.
  await vi.advanceTimersByTimeAsync(20_000);
  await Promise.all([held, ...all]);
  expect(order).toEqual(all.map((_, n) => n));
});

it("are forgotten if very many requests were cancelled", async () => {
  const cancelled = () => new Promise<void>(() => {});
  for (let n = 0; n < 5_001; n++) void inTurn([`cancelled-${n}`], cancelled);
  expect(await inTurn(["cancelled-0"], async () => "written")).toBe("written");
});
