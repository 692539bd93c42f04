/** A TCP proxy that delays every byte by a fixed time, like a broker on another continent. */
import { connect, createServer, type Socket } from "node:net";

export interface Delay extends AsyncDisposable {
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
export async function startDelay(target: number, delayMs: number): Promise<Delay> {
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
