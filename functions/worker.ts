/** Entry point for Workers runtimes. No state is shared between requests. */
import { openStore } from "../shared/store/broker/index.ts";
import { ReadSemaphore } from "../shared/store/read-semaphore.ts";
import { type App, createApp, type ExecutionContextLike } from "./app.ts";
import { readSettings, type Settings } from "./env.ts";
import { linkOf } from "./link.ts";
import type { Host } from "./request/context.ts";
import { imagesOf } from "./request/images.ts";
import { consoleLog } from "./request/log.ts";

let inFlight = 0;

/** Additional milliseconds before a broker call times out, because calls queue up under load. */
const queueMs = () => Math.min(Math.max(0, inFlight - 50) * 20, 13_500);

/**
 * Maximum bytes that all requests of a Workers isolate together read at the same time. Parsing needs several times that
 * memory.
 */
const room = new ReadSemaphore(4 * 1024 * 1024);

/** Maximum bytes of a change set that an isolate publishes, in its 128 MB of memory. */
const PUBLISH_BYTES = 32 * 1024 * 1024;

const hosts = new WeakMap<object, Host>();
let app: App | undefined;

interface Assets {
  fetch(request: Request): Promise<Response>;
}

function assetsOf(env: Record<string, unknown>): Pick<Host, "assets"> {
  const assets = env.ASSETS as Assets | undefined;
  if (assets === undefined) return {};
  return {
    assets: (name, ifNoneMatch) =>
      assets.fetch(
        new Request(`https://assets/${name}`, {
          headers: ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch },
        }),
      ),
  };
}

function hostOf(env: Record<string, unknown>): Host {
  let host = hosts.get(env);
  if (host === undefined) {
    const settings: Settings = readSettings(env);
    const direct = () => openStore({ ...settings.broker, name: "functions", queueMs: queueMs(), room });
    const link = linkOf(env, settings.link);
    host = {
      ...assetsOf(env),
      images: imagesOf(env),
      config: { ...settings.config, publishBytes: PUBLISH_BYTES },
      log: (base) => consoleLog(settings.logLevel, base),
      lend: () => {
        inFlight++;
        const store = link === undefined ? direct() : link(direct);
        const release = () => {
          inFlight--;
          return store.close();
        };
        return { store, release };
      },
      client: (c) => settings.config.clientAddress ?? c.req.header("cf-connecting-ip") ?? "unknown",
    };
    hosts.set(env, host);
  }
  return host;
}

export { BrokerLink } from "./link.ts";

export default {
  fetch(
    request: Request,
    env: Record<string, unknown>,
    executionCtx: ExecutionContextLike,
  ): Response | Promise<Response> {
    app ??= createApp(hostOf);
    return app.fetch(request, env, executionCtx);
  },
};
