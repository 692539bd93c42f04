import { expect, it } from "vitest";
import { inParallel, mapInParallel } from "../../shared/kernel/parallel.ts";

/** Returns work that ends only when the test says so, and the items that have begun. */
function held() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const work = (item: string) => {
    begun.push(item);
    const end = Promise.withResolvers<void>();
    ends.set(item, end);
    return end.promise;
  };
  return { begun, work, end: (item: string) => ends.get(item)?.resolve(), fail: failer(ends) };
}

const failer = (ends: Map<string, PromiseWithResolvers<void>>) => (item: string) =>
  ends.get(item)?.reject(new Error(item));

/** Lets all work that can go on do so. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

it("works on no more items at the same time than the caller says", async () => {
  const { begun, work, end } = held();
  const all = inParallel(["a", "b", "c", "d"], work, 2);
  await settle();
  expect(begun).toEqual(["a", "b"]);
  end("b");
  await settle();
  expect(begun).toEqual(["a", "b", "c"]);
  for (const item of ["a", "c"]) end(item);
  await settle();
  end("d");
  await all;
});

it("begins no item after a failure, and waits for those that have begun", async () => {
  const { begun, work, end, fail } = held();
  let error: unknown;
  const all = inParallel(["a", "b", "c"], work, 2).catch((cause: unknown) => {
    error = cause;
  });
  await settle();
  fail("b");
  await settle();
  expect(error).toBeUndefined();
  end("a");
  await all;
  expect(error).toEqual(new Error("b"));
  expect(begun).toEqual(["a", "b"]);
});

it("throws the error of the first item that failed, in the order of the items", async () => {
  const { work, fail } = held();
  const all = inParallel(["a", "b"], work);
  await settle();
  fail("b");
  fail("a");
  await expect(all).rejects.toThrow("a");
});

it("returns the results in the order of the items, also of an item that is undefined", async () => {
  const wait = async (item: number | undefined) => {
    if (item === 1) await settle();
    return item;
  };
  expect(await mapInParallel([1, undefined, 2], wait, 2)).toEqual([1, undefined, 2]);
  expect(await mapInParallel([], wait)).toEqual([]);
});
