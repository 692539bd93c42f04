import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { sideBySide } from "../../shared/entry/index/batches.ts";

/** Lists of parts. `begun` has the parts that were asked for, `ended` the lists that were closed. */
function lists(count: number, parts: number, failing?: string) {
  const begun: string[] = [];
  const ended: number[] = [];
  async function* numbers() {
    for (let n = 0; n < count; n++) yield n;
  }
  async function* read(list: number) {
    try {
      for (let n = 0; n < parts; n++) {
        const part = `${list}.${n}`;
        begun.push(part);
        await turn();
        if (part === failing) throw new Error(`unreadable: ${part}`);
        yield part;
      }
    } finally {
      ended.push(list);
    }
  }
  return { begun, ended, numbers, read };
}

async function until<T>(parts: AsyncGenerator<T>, last?: T): Promise<T[]> {
  const seen: T[] = [];
  for await (const part of parts) {
    seen.push(part);
    if (part === last) break;
  }
  return seen;
}

test.each([1, 3, 9])("yields all parts in the order of the lists, %i lists at a time", async (most) => {
  const { ended, numbers, read } = lists(5, 2);
  const all = [0, 1, 2, 3, 4].flatMap((list) => [`${list}.0`, `${list}.1`]);
  expect(await until(sideBySide(numbers(), read, most))).toEqual(all);
  expect(ended.sort()).toEqual([0, 1, 2, 3, 4]);
});

test("reads only the first part of the lists after the current one", async () => {
  const { begun, ended, numbers, read } = lists(9, 3);
  await until(sideBySide(numbers(), read, 4), "0.1");
  expect(begun.toSorted()).toEqual(["0.0", "0.1", "1.0", "2.0", "3.0"]);
  expect(ended.sort()).toEqual([0, 1, 2, 3]);
});

test("throws the error of a list when its part is asked for, and closes all lists", async () => {
  const { ended, numbers, read } = lists(9, 1, "2.0");
  const seen: string[] = [];
  const reading = async () => {
    for await (const part of sideBySide(numbers(), read, 4)) seen.push(part);
  };
  await expect(reading()).rejects.toThrow("unreadable: 2.0");
  expect(seen).toEqual(["0.0", "1.0"]);
  expect(ended.sort()).toEqual([0, 1, 2, 3, 4, 5]);
});
