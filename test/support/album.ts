/** An orb with one collection of pictures, for tests of uploaded files. All tests of a test file share one broker. */
import { createHash } from "node:crypto";
import type { OrbDocumentInput } from "../../shared/definition/document/document.ts";
import { sweepFiles } from "../../shared/files/sweep.ts";
import { fileDeps, installOrb, user } from "./entries.ts";

type Modules = NonNullable<OrbDocumentInput["modules"]>;
type Fields = NonNullable<NonNullable<Modules[number]["schemas"]>[number]["fields"]>;

/** @param fields the fields of a picture */
export function albumWith(fields: Fields, id = "album"): OrbDocumentInput {
  const schemas = [{ id: "picture", access: { read: "public", write: "user" }, fields }];
  return { id, modules: [{ id: "pictures", type: "CONTENT", schemas }] } as OrbDocumentInput;
}

/** Starts a broker for all tests of the file, and installs the orb. */
export async function fileAlbum(fields: Fields) {
  const { broker, store, deps } = await fileDeps();
  const operator = broker.store("operator");
  const live = await installOrb(operator, albumWith(fields));
  return {
    broker,
    store,
    deps,
    operator,
    live,
    orb: live.orb,
    ann: user("ann"),
    bob: user("bob"),
    /**
     * Runs the sweep (the job that deletes unused content) with a clock that is three days ahead, when all such content
     * has expired.
     */
    sweepLater: () => sweepFiles({ ...deps, clock: { now: () => Date.now() + 3 * 86_400_000 } }),
    /** Returns the subjects of a stream's chunks, without reading these. */
    chunks: async (stream: string, filter: string): Promise<string[]> => {
      const asked = JSON.stringify({ subjects_filter: filter });
      const reply = await operator.request(`$JS.API.STREAM.INFO.${stream}`, asked, { timeoutMs: 20_000 });
      const { state } = JSON.parse(Buffer.from(reply.data).toString()) as {
        state?: { subjects?: Record<string, number> };
      };
      return Object.keys(state?.subjects ?? {}).sort();
    },
    /** Returns the subjects of a stream that hold a message with a body. */
    subjects: async (stream: string, filter: string): Promise<string[]> => {
      const { messages } = await operator.scan(stream, filter, { fromSeq: 1, limit: 1000, maxBytes: 32e6 });
      return messages.flatMap(({ size, subject }) => (size > 0 ? [subject] : []));
    },
  };
}

/** Yields bytes as a request's body does, in parts. */
export async function* partsOf(data: Uint8Array, size = 50_000): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < data.length; from += size) yield data.subarray(from, from + size);
}

export function sha256() {
  const sum = createHash("sha256");
  return { update: (data: Uint8Array) => void sum.update(data), digest: () => sum.digest() };
}
