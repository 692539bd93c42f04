import { expect, test } from "vitest";
import { pacedStream } from "../../functions/http/paced-stream.ts";

/** An endless content that says when it is no longer read. */
function content() {
  const { promise: released, resolve } = Promise.withResolvers<void>();
  async function* parts(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield new Uint8Array(10);
    } finally {
      resolve();
    }
  }
  return { parts: parts(), released };
}

test("ends a download whose client receives nothing, and releases what it holds", async () => {
  const { parts, released } = content();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const failures: unknown[] = [];
  const failed = (error: unknown) => failures.push(error);
  const reader = pacedStream(parts, { stalledMs: 10, failed, ended: resolve }).getReader();
  expect((await reader.read()).value).toHaveLength(10);
  await Promise.all([ended, released]);
  expect(failures).toEqual([new Error("the client receives nothing")]);
  await expect(reader.read()).rejects.toThrow("the content is incomplete");
});

test("releases what a download holds when the client disconnects", async () => {
  const { parts, released } = content();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const failures: unknown[] = [];
  const failed = (error: unknown) => failures.push(error);
  const reader = pacedStream(parts, { failed, ended: resolve }).getReader();
  await reader.read();
  await reader.cancel();
  await Promise.all([ended, released]);
  expect(failures).toEqual([]);
});
