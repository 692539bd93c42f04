/** Starts the host process. It exits when it is stopped or when its parent process has ended. */
import { readSettings } from "../../functions/env.ts";
import { consoleLog } from "../../functions/request/log.ts";
import { outliveRejections } from "../process/rejections.ts";
import type { Word } from "../process/supervise.ts";
import { serveNode } from "./node.ts";

const { HOST = "127.0.0.1", PORT = "8787", ...env } = process.env;
const bindings = Object.fromEntries(
  Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined),
);
try {
  outliveRejections(consoleLog(readSettings(bindings).logLevel));
  const served = await serveNode({
    host: HOST,
    port: Number(PORT),
    bindings,
    log: (line) => console.log(line),
    // The bundle of this module lies among the other programs.
    programs: import.meta.dirname,
  });
  const stop = () => {
    served.stop().finally(() => process.exit(0));
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, stop);
  process.on("disconnect", stop);
  process.send?.({ ready: true } satisfies Word);
} catch (error) {
  // This process no longer answers requests. So exit, even if some work is unfinished.
  const end = () => process.exit(1);
  if (process.send === undefined) end();
  else process.send({ failure: error instanceof Error ? error.message : String(error) } satisfies Word, end);
}
