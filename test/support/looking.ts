import type { ReadOptions, Store } from "../../shared/store/types.ts";

/** A byte limit that no test reaches. */
const EVERYTHING = { maxBytes: 1024 * 1024 * 1024 };

type Reads = Pick<Store, "getMany" | "scan" | "kvList">;
type Unbounded<O> = Omit<O, "maxBytes"> & { maxBytes?: number };

/** A store whose reads need no byte limit. It can be passed wherever a store is expected. */
export type LookingStore = Omit<Store, keyof Reads> & {
  getMany(
    stream: string,
    subjects: readonly string[],
    options?: Unbounded<ReadOptions>,
  ): ReturnType<Store["getMany"]>;
  scan(
    stream: string,
    filter: string,
    options: Unbounded<Parameters<Store["scan"]>[2]>,
  ): ReturnType<Store["scan"]>;
  kvList(
    bucket: string,
    filter: string,
    options?: Unbounded<Parameters<Store["kvList"]>[2]>,
  ): ReturnType<Store["kvList"]>;
};

export function looking(store: Store): LookingStore {
  return {
    ...store,
    getMany: (stream, subjects, options) => store.getMany(stream, subjects, { ...EVERYTHING, ...options }),
    scan: (stream, filter, options) => store.scan(stream, filter, { ...EVERYTHING, ...options }),
    kvList: (bucket, filter, options) => store.kvList(bucket, filter, { ...EVERYTHING, ...options }),
  };
}
