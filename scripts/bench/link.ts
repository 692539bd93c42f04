import { connect, createServer, type Socket } from "node:net";
import { serveFunctions } from "../host/functions.ts";
import { freePort } from "../process/ports.ts";
import type { Target } from "./measure.ts";
import { childOf, type Served, type Stand } from "./stand.ts";
import { type Seeded, targetsOf } from "./targets.ts";

/** A TCP proxy that delays every byte by a fixed time, like a broker on another continent. */
interface Delay extends AsyncDisposable {
  url: string;
}

function forward(from: Socket, to: Socket, delayMs: number): void {
  from.on("data", (data) => setTimeout(() => to.write(data), delayMs));
  from.on("close", () => setTimeout(() => to.destroy(), delayMs));
  from.on("error", () => undefined);
}

/**
 * Starts the proxy.
 * @param target port on this machine
 * @param delayMs delay in one direction, in milliseconds
 */
async function startDelay(target: number, delayMs: number): Promise<Delay> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket.setNoDelay(true));
      socket.once("close", () => sockets.delete(socket));
    }
    // A real connection takes one round trip before any data can pass, so wait that long.
    client.pause();
    setTimeout(() => client.resume(), 2 * delayMs);
    forward(client, upstream, delayMs);
    forward(upstream, client, delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `ws://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Round trip to a distant broker in milliseconds. */
export const DISTANT_MS = 40;

export interface Links extends AsyncDisposable {
  targets: Target[];
  /** Returns the name of the target that sends the same requests as the named target, but without Durable Objects. */
  without: (name: string) => string;
}

export async function startLinks(
  stand: Stand,
  seeded: Seeded,
  token: string,
  requests: readonly string[],
): Promise<Links> {
  await using stack = new AsyncDisposableStack();
  const near = stand.bindings.NATS_URL ?? "";
  const far = stack.use(await startDelay(Number(new URL(near).port), DISTANT_MS / 2)).url;
  const serve = async (link: boolean, url: string): Promise<Served> => {
    const port = await freePort();
    const bindings = { ...stand.bindings, NATS_URL: url };
    const log = (line: string) => console.error(`  ${line}`);
    const options = { host: "127.0.0.1", port, bindings, log, programs: stand.programs, link };
    const { value, pid } = await childOf(/workerd/, () => serveFunctions(options));
    stack.use(value);
    return { url: `http://127.0.0.1:${port}`, pid };
  };
  const parts: [string, Served][] = [
    ["", stand.functions],
    ["link: ", await serve(true, near)],
    ["far: ", await serve(false, far)],
    ["far, link: ", await serve(true, far)],
  ];
  const targets = parts.flatMap(([label, part]) =>
    targetsOf(stand, part, seeded, token, label).filter(({ name }) =>
      requests.includes(name.slice(label.length)),
    ),
  );
  const all = stack.move();
  return {
    targets,
    without: (name) => name.replace(/^link: /, "").replace("far, link", "far"),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
