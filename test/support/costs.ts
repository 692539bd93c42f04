/**
 * Measures what each test file costs: `TEST_COSTS=<path> npm test` appends a line for each file with the seconds of the
 * processor that its worker and the worker's processes took, the seconds that passed, and the starts of platforms and
 * brokers. Needs Linux. `sort -rn <path>` shows the most expensive first.
 */
import { appendFileSync, readdirSync, readFileSync } from "node:fs";

/** Clock ticks of Linux in a second, for programs of users. */
const TICKS = 100;

/** Returns the processor time of a process, of its ended children, and of those that run, in seconds. */
function processorTime(pid: number | "self"): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // User and system time of the process and of its children, after the name in parentheses.
    const own = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 16).map(Number);
    const threads = readdirSync(`/proc/${pid}/task`);
    const children = threads.flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
    const below = children.map(processorTime);
    return own.reduce((sum, ticks) => sum + ticks, 0) / TICKS + below.reduce((sum, time) => sum + time, 0);
  } catch {
    // The process has ended meanwhile, so its parent has its time.
    return 0;
  }
}

const starts = { platforms: 0, brokers: 0 };

/** Counts a start for {@link measureFile}. */
export function countStart(kind: keyof typeof starts): void {
  starts[kind]++;
}

/** Starts to measure a file. @returns ends it, and writes the line */
export function measureFile(path: string): (file: string) => void {
  const [time, at, { platforms, brokers }] = [processorTime("self"), performance.now(), { ...starts }];
  return (file) => {
    const passed = (performance.now() - at) / 1_000;
    const figures = [processorTime("self") - time, passed].map((seconds) => seconds.toFixed(1));
    const counts = [starts.platforms - platforms, starts.brokers - brokers];
    appendFileSync(path, `${[...figures, ...counts, file].join("\t")}\n`);
  };
}
