import { type NodeFunctions, serveNode } from "../../scripts/host/node.ts";
import { freePort } from "../../scripts/ports.ts";
import { admin, type call as Call, call } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";

type Answer = Awaited<ReturnType<typeof Call>>;

/** An orb with one open schema, `catalog/product`, of these fields. */
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

/** A platform that is served by the functions in workerd and, beside them, by a host in this process. */
export interface Near extends AsyncDisposable {
  host: NodeFunctions;
  port: number;
  /** The same platform, asked through the host. */
  platform: TestPlatform;
  /** Of an administrator. */
  token: string;
  /** Has the functions create and publish an orb. */
  orb(document: { id: string }): Promise<string>;
  /** Has the host create and publish an entry. @returns its id */
  published(path: string, values: object, more?: object): Promise<string>;
  /** Asks the host until the answer comes out of memory. */
  warm(address: string, headers?: Record<string, string>): Promise<Answer>;
  /** Asks the host until the answer is as expected: what another process wrote arrives by its echo. */
  soon(address: string, fits: (answer: Answer) => boolean): Promise<void>;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a host beside a platform. @param variables more settings of the host */
export async function startNear(
  platform: TestPlatform,
  variables: Record<string, string> = {},
  log: (line: string) => void = () => undefined,
): Promise<Near> {
  const { CLIENT_ADDRESS: _, ...bindings } = platform.bindings;
  const port = await freePort();
  const host = await serveNode({ host: "127.0.0.1", port, bindings: { ...bindings, ...variables }, log });
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
      throw new Error(`${address} is never answered from memory`);
    },
    async soon(address, fits) {
      for (const deadline = Date.now() + 3000; ; ) {
        const answer = await call(near, "GET", address);
        if (fits(answer)) return;
        if (Date.now() > deadline) throw new Error(`${address}: still ${JSON.stringify(answer.body)}`);
      }
    },
    [Symbol.asyncDispose]: () => host.stop(),
  };
}
