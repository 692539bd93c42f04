/** Checks that a process is running the after-write hooks and the schedules, if any application has them. */
import { Definitions } from "../../shared/hooks/after/definitions.ts";
import { workerState } from "../../shared/hooks/after/list.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Finding, fail, ok } from "./finding.ts";

export async function checkHooks(store: Store): Promise<Finding[]> {
  const silent = () => undefined;
  const definitions = new Definitions({
    store,
    log: { debug: silent, info: silent, warn: silent, error: silent },
  });
  await definitions.refresh();
  const count = definitions.orbs.size;
  if (count === 0) return [];
  if ((await workerState({ store, clock: { now: () => Date.now() } })) === "running") {
    return [ok("hooks", "A process runs the hooks after writes and the schedules.")];
  }
  return [
    fail(
      "hooks",
      `No process runs the hooks after writes and the schedules, which ${count === 1 ? "an orb has" : `${count} orbs have`}.`,
      "Run npm start, npm run host, or the hooks process.",
    ),
  ];
}
