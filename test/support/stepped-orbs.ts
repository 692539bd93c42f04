/** Tests interruptions: runs an operation on several orbs, and stops it before each of its store calls in turn. */

import { orbHead } from "../../shared/definition/stored/history.ts";
import { createOrb } from "../../shared/orb/create.ts";
import type { Store } from "../../shared/store/types.ts";
import { Stopped, stoppingStore } from "./counting.ts";
import { admin, type TestDeps } from "./entries.ts";

/**
 * Returns a document with one schema.
 * @param read role that may read the entries
 */
export function document(id: string, read: "public" | "user" = "public") {
  return {
    id,
    modules: [
      {
        id: "news",
        type: "CONTENT",
        schemas: [{ id: "article", access: { read }, fields: [{ name: "title", type: "string" }] }],
      },
    ],
  };
}

/** @param prefix beginning of the orbs' ids */
export function steppedOrbs(prefix: string, store: Store, deps: TestDeps) {
  let serial = 0;
  const fresh = () => `${prefix}-${++serial}`;
  /** Returns dependencies whose store fails at the given call and at every later call. */
  const stoppingAt = (step: number) => ({ ...deps, store: stoppingStore(store, step) });
  /**
   * Runs an operation repeatedly, each time on a new orb, and stops it one store call later than before. After each
   * run, `check` asserts the state of the orb.
   * @returns the number of store calls of the complete operation
   */
  async function atEachStep(
    prepare: (orb: string) => Promise<unknown>,
    run: (deps: TestDeps, orb: string) => Promise<unknown>,
    check: (orb: string, began: boolean) => Promise<void>,
  ): Promise<number> {
    for (let step = 0; step < 40; step++) {
      const orb = fresh();
      await prepare(orb);
      const before = (await orbHead(deps, orb))?.revision ?? 0;
      try {
        await run(stoppingAt(step), orb);
        await check(orb, true);
        return step;
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
      }
      const after = (await orbHead(deps, orb))?.revision ?? 0;
      await check(orb, after > before);
    }
    throw new Error("the operation never succeeded");
  }
  return {
    fresh,
    stoppingAt,
    atEachStep,
    create: (orb: string, publish = false) => createOrb(deps, admin, { document: document(orb), publish }),
  };
}
