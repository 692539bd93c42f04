import type { Context } from "./command/context.ts";

/** Shows progress on a terminal. */
export function progress(context: Context, noun: string) {
  const shown = !context.json && process.stderr.isTTY === true;
  let last = 0;
  return {
    at(count: number): void {
      const now = Date.now();
      if (!shown || now - last < 100) return;
      last = now;
      process.stderr.write(`\r${count.toLocaleString("en")} ${noun}`);
    },
    end(): void {
      if (shown) process.stderr.write("\r\u001b[K");
    },
  };
}
