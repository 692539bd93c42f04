import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { bundleFunctions, compatibility } from "../../scripts/bundle/bundle.ts";
import { generateKeys } from "../../scripts/config/secrets.ts";
import type { ConnectOptions } from "../../shared/store/client/connection.ts";
import type { Asked, Outcome } from "./outcome.ts";

/** A worker in the real runtime that uses a broker over the link. */
export interface LinkWorker extends AsyncDisposable {
  /** Sends parallel calls of one store, as one request does. */
  ask(...asked: Asked[]): Promise<Outcome[]>;
  /** Aborts the Durable Object, as a runtime does when it moves or redeploys it. */
  reset(): Promise<void>;
  /** Errors in the runtime's output. */
  complaints: string[];
}

let bundle: Promise<string> | undefined;

/** Starts the worker. Use it with `await using`. */
export async function startLinkWorker(access: ConnectOptions, replicas = 1): Promise<LinkWorker> {
  bundle ??= bundleFunctions(fileURLToPath(new URL("./link-worker.ts", import.meta.url)));
  const complaints: string[] = [];
  const miniflare = new Miniflare({
    ...compatibility(),
    modules: [{ type: "ESModule", path: "worker.js", contents: await bundle }],
    durableObjects: { BROKER_LINK: "BrokerLink" },
    bindings: {
      NATS_URL: access.url,
      NATS_USER: access.user ?? "",
      NATS_PASS: access.pass ?? "",
      NATS_REPLICAS: String(replicas),
      PUBLIC_URL: "http://localhost",
      ...(await generateKeys()),
    },
    cf: false,
    handleRuntimeStdio(stdout: Readable, stderr: Readable) {
      for (const input of [stdout, stderr])
        createInterface({ input }).on("line", (line) => complaints.push(line));
    },
  });
  await miniflare.ready;
  return {
    complaints,
    reset: async () => {
      await miniflare.dispatchFetch("http://link/reset");
    },
    async ask(...asked) {
      const body = JSON.stringify(asked, (_, value: unknown) =>
        value instanceof Uint8Array ? { $bytes: [...value] } : value,
      );
      const answer = await miniflare.dispatchFetch("http://link/", { method: "POST", body });
      return (await answer.json()) as Outcome[];
    },
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  };
}
