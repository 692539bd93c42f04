/** Checks that a process is running the after-write hooks and the schedules, if any application has them. */
import { Definitions, readHookFigures, workerState } from "../../shared/hooks/after/index.ts";
import { pause } from "../../shared/kernel/pause.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** After a crash, a restarted process waits about 5 seconds until it may take over. It also needs time to start. */
const STARTING_MS = 15_000;
const PAUSE_MS = 500;

/** Returns whether a process runs the hooks, or does so within {@link STARTING_MS}. */
async function someoneRuns(store: Store): Promise<boolean> {
  for (const until = Date.now() + STARTING_MS; ; await pause(PAUSE_MS)) {
    if ((await workerState({ store, clock: { now: () => Date.now() } })) === "running") return true;
    if (Date.now() >= until) return false;
  }
}

/** A delivery that waits longer than this is worth a warning: a receiver that fails for so long needs a person. */
const LATE_MS = 3_600_000;

/** Tells how many deliveries wait, and since when. */
async function backlog(store: Store, definitions: Definitions): Promise<Finding> {
  const runs = "A process runs the hooks after writes and the schedules.";
  const clock = { now: () => Date.now() };
  const orbs = [...definitions.orbs].map(([orb, { live, hooks, schedules }]) => ({
    orb,
    name: live.document.name,
    queues: [
      ...hooks.map(({ hook, since }) => ({ id: hook.id, since })),
      ...schedules.map(({ id }) => ({ id, since: undefined })),
    ],
  }));
  const { queues = [] } = (await readHookFigures({ store, clock }, orbs)) ?? {};
  const behind = queues.filter(({ oldest }) => oldest !== undefined);
  const [worst] = behind.toSorted((a, b) => (a.oldest ?? 0) - (b.oldest ?? 0));
  if (worst === undefined) return ok("hooks", `${runs} No delivery waits.`);
  const count = behind.reduce((sum, { waiting, unread }) => sum + waiting + unread, 0);
  const age = clock.now() - (worst.oldest ?? 0);
  const text = `${runs} ${count} ${count === 1 ? "delivery waits" : "deliveries wait"}, the oldest for ${Math.round(age / 1000)} s (${worst.orb}, ${worst.hook}).`;
  if (age < LATE_MS) return ok("hooks", text);
  const path = `/api/admin/orbs/${worst.orb}/deliveries?status=waiting`;
  return warn("hooks", text, `Read ${path}: it names the error of the last attempt.`);
}

export async function checkHooks(store: Store): Promise<Finding[]> {
  const silent = () => undefined;
  const definitions = new Definitions({
    store,
    log: { debug: silent, info: silent, warn: silent, error: silent },
  });
  await definitions.refresh();
  const count = definitions.orbs.size;
  if (count === 0) return [];
  if (await someoneRuns(store)) return [await backlog(store, definitions)];
  return [
    fail(
      "hooks",
      `No process runs the hooks after writes and the schedules, which ${count === 1 ? "an orb has" : `${count} orbs have`}.`,
      "Run npm start, npm run host, or the hooks process.",
    ),
  ];
}
