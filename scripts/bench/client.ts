/**
 * Generates load in a separate process, so that the load does not slow down the measured server. Each connection
 * sends a request as soon as the previous one is answered (a closed loop, as in wrk).
 */
import { connect, type Socket } from "node:net";

/** Requests to send. In `path` and `body`, `{n}` is a growing number and `{any}` is one of `keys`. */
export interface Job {
  host: string;
  port: number;
  method: string;
  path: string;
  body?: string;
  headers: Record<string, string>;
  keys: string[];
  connections: number;
  durationMs: number;
  /** First value of `{n}`. */
  first: number;
  /** Index of the first key to use. The benchmark uses all other keys before it uses a key again. */
  firstKey: number;
}

export interface Result {
  requests: number;
  /** Number of responses other than 2xx, and of requests without a response. */
  failures: number;
  /** HTTP status of one failed response, for the report. */
  failure: number;
  perSecond: number;
  p50: number;
  p99: number;
  bytes: number;
}

const HEADER_END = Buffer.from("\r\n\r\n");
const CHUNK_END = Buffer.from("\r\n0\r\n\r\n");

/** Returns the length of the first response in a buffer; 0 if the response is incomplete. */
function answerLength(buffer: Buffer, method: string): number {
  const end = buffer.indexOf(HEADER_END);
  if (end < 0) return 0;
  const head = buffer.toString("latin1", 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined && method !== "HEAD") {
    const whole = end + 4 + Number(length);
    return buffer.length >= whole ? whole : 0;
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return end + 4;
  if (buffer.subarray(end + 4, end + 9).equals(CHUNK_END.subarray(2))) return end + 9;
  const last = buffer.indexOf(CHUNK_END, end + 4);
  return last < 0 ? 0 : last + CHUNK_END.length;
}

function run(job: Job): Promise<Result> {
  const latencies: number[] = [];
  let sent = 0;
  let failures = 0;
  let failure = 0;
  let bytes = 0;
  const begin = performance.now();
  const until = begin + job.durationMs;
  const fixed = Object.entries({ host: `${job.host}:${job.port}`, ...job.headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

  function message(): string {
    const n = job.first + sent;
    const key = job.keys[((job.firstKey + sent) * 7919) % Math.max(1, job.keys.length)] ?? "";
    const fill = (text: string) => text.replaceAll("{n}", String(n)).replaceAll("{any}", key);
    const body = job.body === undefined ? "" : fill(job.body);
    const extra =
      job.body === undefined
        ? ""
        : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    return `${job.method} ${fill(job.path)} HTTP/1.1\r\n${fixed}${extra}\r\n${body}`;
  }

  return new Promise((resolve, reject) => {
    let open = job.connections;
    const done = (socket: Socket) => {
      socket.destroy();
      if (--open > 0) return;
      latencies.sort((a, b) => a - b);
      const at = (q: number) =>
        latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? 0;
      resolve({
        requests: latencies.length,
        failures,
        failure,
        perSecond: latencies.length / ((performance.now() - begin) / 1000),
        p50: at(0.5),
        p99: at(0.99),
        bytes,
      });
    };
    for (let i = 0; i < job.connections; i++) {
      const socket = connect({ host: job.host, port: job.port, noDelay: true });
      let buffer: Buffer = Buffer.alloc(0);
      let sentAt = begin;
      const next = () => {
        sentAt = performance.now();
        // Send at least one request, even in a very short round.
        if (sent > 0 && sentAt >= until) {
          done(socket);
          return;
        }
        socket.write(message());
        sent++;
      };
      socket.on("connect", next);
      socket.on("data", (chunk) => {
        buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk]);
        const length = answerLength(buffer, job.method);
        if (length === 0) return;
        bytes += length;
        const status = Number(buffer.toString("latin1", 9, 12));
        if (status < 200 || status > 299) {
          failures++;
          failure = status;
        }
        buffer = Buffer.alloc(0);
        latencies.push(performance.now() - sentAt);
        next();
      });
      socket.on("error", reject);
      socket.on("close", () => {
        if (performance.now() < until) reject(new Error("the server closed a connection"));
      });
    }
  });
}

process.on("message", (job: Job) => {
  run(job).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
