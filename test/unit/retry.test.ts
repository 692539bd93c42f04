import { expect, it } from "vitest";
import { Again, retry, retryEach } from "../../shared/kernel/retry.ts";

class Lost extends Again {}

async function failing(policy: Parameters<typeof retry>[0], errors: readonly Error[]) {
  const attempts: number[] = [];
  const work = async (attempt: number) => {
    attempts.push(attempt);
    const error = errors[attempt];
    if (error !== undefined) throw error;
    return "done";
  };
  const result = await retry(policy, work).catch((error: unknown) => error);
  return { result, attempts };
}

it("repeats work until it succeeds", async () => {
  const { result, attempts } = await failing({ attempts: 3 }, [new Again(), new Lost()]);
  expect(result).toBe("done");
  expect(attempts).toEqual([0, 1, 2]);
});

it("throws the error of the last attempt, or the policy's error", async () => {
  const last = new Lost();
  expect((await failing({ attempts: 2 }, [new Again(), last])).result).toBe(last);
  const failed = (cause: unknown) => new Error("gave up", { cause });
  const { result, attempts } = await failing({ attempts: 2, failed }, [new Again(), last]);
  expect(result).toMatchObject({ message: "gave up", cause: last });
  expect(attempts).toEqual([0, 1]);
});

it("does not repeat work after an error that the policy does not name", async () => {
  const error = new Error("broken");
  expect(await failing({ attempts: 9 }, [error])).toEqual({ result: error, attempts: [0] });
  const after = (thrown: unknown) => thrown === error;
  expect((await failing({ attempts: 9, after }, [error, error])).result).toBe("done");
  expect((await failing({ attempts: 9, after }, [new Again()])).attempts).toEqual([0]);
});

it("waits as long as the policy says", async () => {
  const asked: number[] = [];
  const pauseMs = (attempt: number) => {
    asked.push(attempt);
    return attempt === 0 ? 0 : 30;
  };
  const started = performance.now();
  await failing({ attempts: 9, pauseMs }, [new Again(), new Again()]);
  expect(asked).toEqual([0, 1]);
  expect(performance.now() - started).toBeGreaterThan(25);
});

it("continues work that yields where the attempt before ended", async () => {
  let next = 0;
  const yields = retryEach({ attempts: 5 }, async function* (attempt) {
    while (next < 5) {
      yield next++;
      if (next === 2 * attempt + 1) throw new Again();
    }
  });
  const seen: number[] = [];
  for await (const one of yields) seen.push(one);
  expect(seen).toEqual([0, 1, 2, 3, 4]);
});

it("ends work that yields when its reader stops", async () => {
  let ended = 0;
  const yields = retryEach({ attempts: 5 }, async function* () {
    try {
      for (;;) yield 1;
    } finally {
      ended++;
    }
  });
  for await (const one of yields) if (one === 1) break;
  expect(ended).toBe(1);
});
