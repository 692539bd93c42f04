import type { Context } from "./context.ts";
import { clean } from "./terminal.ts";

/** Shows progress on a terminal. */
export function progress(context: Context, noun: string) {
  return shownAs(context, (count) => `${count.toLocaleString("en")} ${noun}`);
}

/** Shows a bar with the number of things that are done, how many are done in a second, and the remaining time. */
export function bar(context: Context, noun: string, total: number) {
  const pace = new Pace();
  return shownAs(context, (count, now) => {
    pace.at(count, now);
    return barText(count, total, noun, pace.perSecond);
  });
}

function shownAs(context: Context, text: (count: number, now: number) => string) {
  const shown = !context.json && process.stderr.isTTY === true;
  let last = 0;
  return {
    at(count: number): void {
      const now = Date.now();
      if (!shown || now - last < 100) return;
      last = now;
      // A line that is wider than the terminal would stay on it.
      const line = clean(text(count, now)).slice(0, Math.max(20, (process.stderr.columns || 80) - 1));
      process.stderr.write(`\r${line}\u001b[K`);
    },
    end(): void {
      if (shown) process.stderr.write("\r\u001b[K");
    },
  };
}

/** The pace of the last seconds, because the first rows of an import that goes on are fast. */
export class Pace {
  #marks: { count: number; at: number }[] = [];

  /** @param now milliseconds */
  at(count: number, now: number): void {
    this.#marks = [...this.#marks.filter(({ at }) => now - at <= PACE_MS), { count, at: now }];
  }

  /** Undefined until there is enough to tell. */
  get perSecond(): number | undefined {
    const [first, last] = [this.#marks[0], this.#marks.at(-1)];
    if (first === undefined || last === undefined || last.at - first.at < 500) return undefined;
    return ((last.count - first.count) * 1000) / (last.at - first.at);
  }
}

const PACE_MS = 10_000;
const WIDTH = 20;

/** Returns a line such as `██████░░░░ 60% · 600 of 1,000 entries · 250/s · 2 s left`. */
export function barText(count: number, total: number, noun: string, perSecond: number | undefined): string {
  const share = total === 0 ? 1 : Math.min(1, count / total);
  const full = Math.floor(share * WIDTH);
  const number = (value: number) => value.toLocaleString("en");
  const parts = [
    `${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${Math.floor(share * 100)}%`,
    `${number(count)} of ${number(total)} ${noun}`,
  ];
  if (perSecond !== undefined && perSecond > 0) {
    const seconds = Math.ceil(Math.max(0, total - count) / perSecond);
    const pace = perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond);
    parts.push(`${number(pace)}/s`, `${spanText(seconds)} left`);
  }
  return parts.join(" · ");
}

function spanText(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
