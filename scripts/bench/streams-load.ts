/** Opens stream subscribers in a separate process. Measures how long after its publication each event arrives. */
import { connect, type Socket } from "node:net";

export type LoadCommand =
  | { do: "open"; url: string; headers: Record<string, string>; subscribers: number; perSecond: number }
  | { do: "reset" }
  | { do: "report" };

export type LoadReport =
  | { event: "opened"; subscribers: number }
  | { event: "report"; received: number; closed: number; latencies: Float64Array };

const MARK = Buffer.from('"t":');
const LIMIT = 4_000_000;
let latencies = new Float64Array(LIMIT);
let received = 0;
let closed = 0;
const sockets: Socket[] = [];

/** Returns milliseconds on a clock that all processes of this machine share. */
const clock = () => performance.timeOrigin + performance.now();

function take(chunk: Buffer): void {
  const now = clock();
  for (let at = chunk.indexOf(MARK); at >= 0; at = chunk.indexOf(MARK, at + 4)) {
    const end = chunk.indexOf(44, at + 4);
    const sent = Number(chunk.toString("latin1", at + 4, end));
    if (received < LIMIT) latencies[received] = now - sent;
    received++;
  }
}

function open(url: URL, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    sockets.push(socket);
    let begun = false;
    const lines = Object.entries({ host: url.host, ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n`);
    socket.on("data", (chunk: Buffer) => {
      if (!begun) {
        // The first control event means that the subscription is live.
        const head = chunk.toString("latin1", 0, 2000);
        if (!head.startsWith("HTTP/1.1") && !head.includes("streamNextOffset")) return;
        if (head.startsWith("HTTP/1.1") && !head.startsWith("HTTP/1.1 200"))
          reject(new Error(head.slice(0, 200)));
        begun = true;
        resolve();
      }
      take(chunk);
    });
    socket.on("error", reject);
    socket.on("close", () => closed++);
  });
}

process.on("message", (command: LoadCommand) => {
  if (command.do === "reset") {
    received = 0;
    latencies = new Float64Array(LIMIT);
  } else if (command.do === "report") {
    const report: LoadReport = {
      event: "report",
      received,
      closed,
      latencies: latencies.slice(0, Math.min(received, LIMIT)),
    };
    process.send?.(report);
  } else {
    const { url, headers, subscribers, perSecond } = command;
    const address = new URL(url);
    const all = async () => {
      for (let left = subscribers; left > 0; left -= perSecond / 20) {
        const some = Math.min(left, perSecond / 20);
        await Promise.all(Array.from({ length: some }, () => open(address, headers)));
      }
      process.send?.({ event: "opened", subscribers: sockets.length } satisfies LoadReport);
    };
    all().catch((error: unknown) => {
      console.error(String(error));
      process.exit(1);
    });
  }
});
process.on("disconnect", () => process.exit(0));
