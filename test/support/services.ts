import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { connect, headers, type NatsConnection } from "nats";
import { adminToken, call, user } from "./auth.ts";
import { sharedPlatform, type TestPlatform, type TestPlatformOptions } from "./platform.ts";

export { headers };

/** Returns the `nats://` URL with the operator's credentials, as `npm run nats:url` prints it. */
export function natsUrl(platform: TestPlatform): string {
  const { user = "", pass = "" } = platform.operatorAccess;
  return `nats://${user}:${pass}@127.0.0.1:${platform.broker?.port}`;
}

/** Connects a plain NATS client with the operator's rights. */
export async function brokerClient(platform: TestPlatform): Promise<NatsConnection> {
  const { user = "", pass = "" } = platform.operatorAccess;
  return connect({ servers: `127.0.0.1:${platform.broker?.port}`, user, pass });
}

/** Starts a program from scripts/examples and waits until it is ready. */
export async function startExample(
  platform: TestPlatform,
  name: string,
): Promise<{ child: ChildProcess } & AsyncDisposable> {
  const path = fileURLToPath(new URL(`../../scripts/examples/${name}`, import.meta.url));
  const child = spawn(name.endsWith(".sh") ? "bash" : process.execPath, [path], {
    env: { ...process.env, NATS_URL: natsUrl(platform) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    const listen = (data: Buffer) => {
      said += data.toString();
      if (said.includes("ready")) resolve();
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.once("exit", () => reject(new Error(`${name} ended: ${said}`)));
  });
  return {
    child,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** Returns a valid registration of a handler. */
export const entryOf = (name: string, more: object = {}) => ({
  name,
  description: "A handler of a test.",
  auth: "None",
  kind: "nats",
  subject: `svc.${name}`,
  ...more,
});

/**
 * Starts what handler tests need: a platform, a NATS client, an admin's token and a user.
 * @param options give the file a platform of its own, as those of {@link sharedPlatform}
 */
export async function stage(options?: TestPlatformOptions) {
  const platform = await sharedPlatform(options);
  const client = await brokerClient(platform);
  return { platform, client, admin: await adminToken(platform), ann: await user(platform) };
}

/** Returns steps that handler tests share. @param on returns the environment when a step runs */
export function registrar(on: () => { platform: TestPlatform; client: NatsConnection; admin: string }) {
  /** Stores a registration, as any NATS client can. */
  async function put(key: string, entry: unknown): Promise<void> {
    const body = typeof entry === "string" ? entry : JSON.stringify(entry);
    const reply = await on().client.request(`$KV.handlers.${key}`, body, { timeout: 10_000 });
    const stored = reply.json<{ stream?: string }>();
    if (stored.stream !== "KV_handlers") throw new Error(JSON.stringify(stored));
  }
  return {
    put,
    register: (name: string, more: object = {}) => put(name, entryOf(name, more)),
    /** Creates a published orb that uses handlers. */
    async orbWith(id: string, uses: Record<string, string[]>): Promise<void> {
      const { platform, admin } = on();
      const document = {
        id,
        uses: Object.entries(uses).map(([service, handlers]) => ({ service, handlers })),
        modules: [],
      };
      const path = "/api/admin/orbs?publish=true";
      const made = await call(platform, "POST", path, { token: admin, body: document });
      if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    },
  };
}
