import type { Log } from "../shared/deps.ts";
import type { LogLevel } from "./env.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** One JSON object a line, on the host's console unless it has a better place. Fields are facts about requests, never values that users wrote. */
export function consoleLog(
  level: LogLevel,
  base: Record<string, unknown> = {},
  line: (text: string) => void = (text) => console.log(text),
): Log {
  const least = level === "silent" ? LEVELS.length : LEVELS.indexOf(level);
  const write = (at: (typeof LEVELS)[number]) => (message: string, fields?: Record<string, unknown>) => {
    if (LEVELS.indexOf(at) < least) return;
    line(JSON.stringify({ time: new Date().toISOString(), level: at, message, ...base, ...fields }));
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
