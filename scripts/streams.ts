/**
 * The streams process: reads its settings from the environment, serves streams until it receives SIGTERM, and then
 * ends every response.
 */
import { readSettings } from "../functions/env.ts";
import { consoleLog } from "../functions/request/log.ts";
import { openStore } from "../shared/store/broker/index.ts";
import { Hub } from "../shared/streams/read/index.ts";
import { openSocket } from "./host/socket.ts";
import { exitWith, oneLine } from "./process/failure.ts";
import { requirePort } from "./process/ports.ts";
import { outliveRejections } from "./process/rejections.ts";
import type { Word } from "./process/supervise.ts";
import { type StreamsServer, startStreamsServer } from "./streams/server.ts";
import { readStreamsSettings } from "./streams/settings.ts";

const CACHE_BYTES = 64 * 1024 * 1024;
const DRAIN_MS = 2_500;
const RECONNECT_MS = 500;

/** Reports a fatal error to the parent process, or to the terminal if there is no parent. */
function fail(error: unknown): never {
  const failure = oneLine(error);
  if (failure === undefined || process.send === undefined) exitWith(error);
  process.send({ failure } satisfies Word);
  process.exit(1);
}

function settings() {
  try {
    return { own: readStreamsSettings(process.env), ...readSettings(process.env) };
  } catch (error) {
    fail(error);
  }
}
const { own, config, broker, logLevel } = settings();
const logOf = (base: Record<string, unknown>) => consoleLog(logLevel, { service: "streams", ...base });
const log = logOf({});
outliveRejections(log);

const store = openStore({
  ...broker,
  name: "streams",
  reconnect: true,
  openSocket,
  onStatus: (status) => {
    hub.connection(status === "connected" || status === "reconnected" ? "up" : "down");
    const level = status === "connected" || status === "closed" ? "info" : "warn";
    log[level](`broker ${status}`);
  },
});
const hub = new Hub(store, {
  limits: {
    total: own.STREAMS_MAX,
    perUser: own.STREAMS_MAX_PER_USER,
    perAdmin: own.STREAMS_MAX_PER_ADMIN,
    perOrb: own.STREAMS_MAX_PER_ORB,
    cacheBytes: CACHE_BYTES,
  },
  times: { longPollMs: config.longPollMs, rotateMs: own.STREAMS_ROTATE_MS },
  onFailure: (error) => log.warn("the broker did not answer", { error: String(error) }),
});
// Tries to connect to the broker until it succeeds. The client then reconnects by itself after a failure. If it gives
// up, this function connects again.
let stopped = false;
async function stayConnected(): Promise<void> {
  while (!stopped) {
    if (!hub.connected) await store.server().catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
}
await store.server().catch(() => hub.connection("down"));
void stayConnected();

async function listen(): Promise<StreamsServer> {
  const { HOST: host, STREAMS_PORT: port, TRUST_PROXY: behindProxy } = own;
  try {
    return await startStreamsServer({ host, port, config, log: logOf, store, hub, behindProxy });
  } catch (error) {
    await requirePort(port, "STREAMS_PORT", host).catch(fail);
    fail(error);
  }
}
const server = await listen();
log.info("streams service listens", { port: server.port });
process.send?.({ ready: true } satisfies Word);

async function stop(): Promise<void> {
  if (stopped) return;
  stopped = true;
  await server.drain(DRAIN_MS);
  hub.close();
  await store.close();
  log.info("streams service stopped");
  process.exit(0);
}
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void stop());
process.on("disconnect", () => void stop());
