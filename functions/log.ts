import type { Log } from "../shared/deps.ts";
import type { LogLevel } from "./env.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;

/**
 * Returns a log that writes one JSON object per line, to the console by default. Fields must be facts about requests,
 * never user content.
 */
export function consoleLog(
  level: LogLevel,
  base: Record<string, unknown> = {},
  line: (text: string) => void = (text) => console.log(text),
): Log {
  const least = level === "silent" ? LEVELS.length : LEVELS.indexOf(level);
  const write = (at: number, message: string, fields?: Record<string, unknown>) => {
    if (at < least) return;
    line(JSON.stringify({ time: new Date().toISOString(), level: LEVELS[at], message, ...base, ...fields }));
  };
  return {
    debug: (message, fields) => write(0, message, fields),
    info: (message, fields) => write(1, message, fields),
    warn: (message, fields) => write(2, message, fields),
    error: (message, fields) => write(3, message, fields),
  };
}
