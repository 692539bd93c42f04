/** Figures about the deliveries of hooks after writes and of schedules, for the metrics. */
import { runsAfter } from "../../definition/document/hooks.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import { nullIfMissing } from "../../entry/model/resolve.ts";
import { READ_BYTES, SMALL_BYTES } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { workerState } from "./list.ts";
import type { HookState } from "./stored.ts";

export interface QueueFigures {
  orb: string;
  /** Id of the hook or of the schedule. */
  hook: string;
  waiting: number;
  delivered: number;
  failed: number;
}

export interface HookFigures {
  queues: QueueFigures[];
  deadLetters: { orb: string; count: number }[];
  worker: "running" | "absent";
}

const AT_ONCE = 16;
/**
 * Maximum hooks and schedules to read for one application. An application can have at most 70, so one read returns
 * all of them.
 */
const STATES = 200;

function lanesOf({ document }: LiveOrb): Set<string> {
  const { hooks = [], schedules = [] } = document;
  return new Set([...hooks.filter(runsAfter), ...schedules].map(({ id }) => id));
}

/**
 * Returns the figures for the metrics. Sends two requests for each application that has hooks after writes or
 * schedules.
 * @returns null, without sending a request, if no application has them
 */
export async function readHookFigures(deps: Deps, orbs: readonly LiveOrb[]): Promise<HookFigures | null> {
  const hooked = orbs.filter((live) => lanesOf(live).size > 0);
  if (hooked.length === 0) return null;
  const found: HookFigures = { queues: [], deadLetters: [], worker: await workerState(deps) };
  for (let i = 0; i < hooked.length; i += AT_ONCE) {
    await Promise.all(hooked.slice(i, i + AT_ONCE).map((live) => addFigures(deps, live, found)));
  }
  return found;
}

async function addFigures({ store }: Deps, live: LiveOrb, to: HookFigures): Promise<void> {
  const { orb } = live;
  const read = (filter: string, limit: number, maxBytes: number) =>
    nullIfMissing(store.scan(streams.hooks, filter, { fromSeq: 1, limit, maxBytes }));
  const [states, failed] = await Promise.all([
    read(subjects.hookStates(orb), STATES, READ_BYTES),
    read(subjects.hooksFailed(orb), 1, SMALL_BYTES),
  ]);
  const known = new Map(
    (states?.messages ?? []).flatMap((message) =>
      message.size === 0 ? [] : [[message.subject.split(".").at(-1), message.json<HookState>()] as const],
    ),
  );
  for (const hook of lanesOf(live)) {
    const { waiting = [], delivered = 0, failed: lost = 0 } = known.get(hook) ?? {};
    to.queues.push({ orb, hook, waiting: waiting.length, delivered, failed: lost });
  }
  to.deadLetters.push({ orb, count: failed === null ? 0 : failed.messages.length + failed.pending });
}
