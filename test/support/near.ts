import { setTimeout as pause } from "node:timers/promises";
import { type NodeFunctions, serveNode } from "../../scripts/host/node.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { admin, type call as Call, call } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";
import { testPrograms } from "./programs.ts";

type Answer = Awaited<ReturnType<typeof Call>>;

/** Returns the document of an orb with one public schema, `catalog/product`, and these fields. */
export const catalogOf = (id: string, fields: readonly object[]) => ({
  id,
  languages: ["en"],
  uses: [],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [{ id: "product", access: { read: "public", write: "admin" }, fields }],
    },
  ],
});

/** A platform whose functions run in workerd, and a second host in the test process on the same broker. */
export interface Near extends AsyncDisposable {
  host: NodeFunctions;
  port: number;
  /** The platform, but with requests going to the second host. */
  platform: TestPlatform;
  /** An admin's token. */
  token: string;
  /** Creates and publishes an orb through workerd. */
  orb(document: { id: string }): Promise<string>;
  /** Creates and publishes an entry through the second host. @returns its id */
  published(path: string, values: object, more?: object): Promise<string>;
  /** Repeats a request to the second host until its cache answers. */
  warm(address: string, headers?: Record<string, string>): Promise<Answer>;
  /** Repeats a request to the second host until its response shows a write of another process. */
  soon(address: string, fits: (answer: Answer) => boolean): Promise<void>;
}

/** Returns a platform's variables for another host, which determines client addresses itself. */
export function hostBindings(platform: TestPlatform): Record<string, string> {
  const { CLIENT_ADDRESS: _, ...bindings } = platform.bindings;
  return bindings;
}

/** Starts a host in this process beside the platform's functions, on the same broker. */
export async function serveBeside(
  platform: TestPlatform,
  variables: Record<string, string> = {},
  log: (line: string) => void = () => undefined,
): Promise<NodeFunctions> {
  const bindings = { ...hostBindings(platform), ...variables };
  return serveNode({ host: "127.0.0.1", port: await freePort(), bindings, log, programs: testPrograms() });
}

/** Starts a host for a platform. @param variables further settings of the host */
export async function startNear(
  platform: TestPlatform,
  variables: Record<string, string> = {},
  log: (line: string) => void = () => undefined,
): Promise<Near> {
  const host = await serveBeside(platform, variables, log);
  const port = Number(new URL(host.url).port);
  const near = { ...platform, origin: host.url };
  const { token } = await admin(platform);
  const made = async (path: string, body: object, by = platform) => {
    const answer = await call(by, "POST", path, { token, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  return {
    host,
    port,
    platform: near,
    token,
    async orb(document) {
      await made("/api/admin/orbs", document);
      await made(`/api/admin/orbs/${document.id}/publish`, {});
      return document.id;
    },
    async published(path, values, more = {}) {
      return (await made(`${path}?publish=true`, { values, ...more }, near)).id as string;
    },
    async warm(address, headers = {}) {
      for (let i = 0; i < 50; i++) {
        const { given } = host.answers();
        const answer = await call(near, "GET", address, { headers });
        if (host.answers().given > given) return answer;
        await pause(20);
      }
      throw new Error(`${address} never comes from the cache`);
    },
    async soon(address, fits) {
      for (const deadline = Date.now() + 30_000; ; ) {
        const answer = await call(near, "GET", address);
        if (fits(answer)) return;
        if (Date.now() > deadline) throw new Error(`${address}: still ${JSON.stringify(answer.body)}`);
      }
    },
    [Symbol.asyncDispose]: () => host.stop(),
  };
}
