/** A TCP proxy that cuts connections in the middle of their data. */
import { connect, createServer, type Socket } from "node:net";

export interface Cutter extends AsyncDisposable {
  readonly port: number;
  /** Number of connections that were cut. */
  readonly cuts: number;
  /** Number of accepted connections, and number of open ones. */
  readonly opened: number;
  readonly open: number;
  /** Cuts all open connections. */
  cutAll(): void;
  /** Cuts each new connection after this many bytes to the server; undefined cuts none. */
  after: () => number | undefined;
}

/** Listens on a free port and forwards to another one. */
export async function startCutter(target: number): Promise<Cutter> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  let opened = 0;
  let open = 0;
  const cutter: Pick<Cutter, "after"> = { after: () => undefined };
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    opened++;
    open++;
    client.once("close", () => open--);
    let left = cutter.after();
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.once("error", end);
      socket.once("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    client.on("data", (data: Buffer) => {
      if (left === undefined || data.length < left) {
        if (left !== undefined) left -= data.length;
        upstream.write(data);
        return;
      }
      // Deliver the bytes before the cut. The server then has half of a batch, or a message whose acknowledgement is
      // lost.
      cuts++;
      upstream.write(data.subarray(0, left), () => upstream.end());
      client.destroy();
    });
    upstream.on("data", (data: Buffer) => client.write(data));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    get cuts() {
      return cuts;
    },
    get opened() {
      return opened;
    },
    get open() {
      return open;
    },
    cutAll() {
      cuts += open;
      for (const socket of sockets) socket.destroy();
    },
    get after() {
      return cutter.after;
    },
    set after(after) {
      cutter.after = after;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
