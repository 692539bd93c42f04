/** Compares uploads and downloads of the Node host and of PocketBase, in turns and with the same client. */
import { randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { memoryMiB } from "../../scripts/bench/measure.ts";
import { printPairs } from "../../scripts/bench/report.ts";
import type { Stand } from "../../scripts/bench/stand.ts";
import { loadDownloads } from "./download.ts";
import { startFiles } from "./pocketbase.ts";

const CONNECTIONS = 8;
/**
 * Sizes of files in bytes, and the duration of a round in milliseconds. A round ends when its running requests have
 * finished.
 */
const SIZES = [
  { name: "10 KB", bytes: 10_000, roundMs: 1_500, rounds: 3 },
  { name: "1 MB", bytes: 1_000_000, roundMs: 2_500, rounds: 3 },
  { name: "100 MB", bytes: 100_000_000, roundMs: 1_000, rounds: 2 },
] as const;

interface Answer {
  status: number;
  text: string;
}

/** Sends uploads. */
class Http implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

  send(
    url: string,
    { headers, body }: { headers: Record<string, string>; body: readonly Uint8Array[] },
  ): Promise<Answer> {
    const length = body.reduce((sum, part) => sum + part.length, 0);
    return new Promise((resolve, reject) => {
      const all = { ...headers, "content-length": String(length) };
      const sent = request(url, { agent: this.#agent, method: "POST", headers: all }, (answer) => {
        let text = "";
        answer.on("data", (part: Buffer) => {
          text += part.toString();
        });
        answer.once("end", () => resolve({ status: answer.statusCode ?? 0, text }));
        answer.once("error", reject);
      });
      sent.once("error", reject);
      for (const part of body) sent.write(part);
      sent.end();
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

interface Place {
  name: string;
  /** Uploads the content. Returns the URL for downloads. */
  upload(http: Http, content: Buffer): Promise<string>;
  pids: Record<string, number | undefined>;
}

function answered<T>({ status, text }: Answer): T {
  if (status < 200 || status > 299) throw new Error(`status ${status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as T;
}

async function ourPlace(stand: Stand, token: string): Promise<Place> {
  const fields = [{ name: "content", type: "file", public: true }];
  const schemas = [{ id: "paper", access: { read: "public", write: "user" }, fields }];
  const document = { id: "papers", modules: [{ id: "papers", type: "CONTENT", schemas }] };
  const headers = { authorization: `Bearer ${token}` };
  const json = { ...headers, "content-type": "application/json" };
  const { url } = stand.host;
  using http = new Http();
  const body = [Buffer.from(JSON.stringify(document))];
  answered(await http.send(`${url}/api/admin/orbs?publish=true`, { headers: json, body }));
  return {
    name: "host",
    pids: { host: stand.host.pid, broker: stand.brokerPid },
    async upload(own, content) {
      const to = `${url}/api/papers/files`;
      const sent = await own.send(to, { headers, body: [content] });
      const { id } = answered<{ id: string }>(sent);
      const values = [Buffer.from(JSON.stringify({ values: { content: { file: id } } }))];
      const entries = `${url}/api/papers/papers?publish=true`;
      answered(await own.send(entries, { headers: json, body: values }));
      return `${to}/${id}`;
    },
  };
}

function pocketbasePlace({ url, pid, version }: Awaited<ReturnType<typeof startFiles>>): Place {
  const edge = "----------------------bench";
  const headers = { "content-type": `multipart/form-data; boundary=${edge}` };
  const head = `--${edge}\r\nContent-Disposition: form-data; name="content"; filename="paper.bin"\r\nContent-Type: application/octet-stream\r\n\r\n`;
  return {
    name: `PocketBase ${version}`,
    pids: { PocketBase: pid },
    async upload(http, content) {
      const body = [Buffer.from(head), content, Buffer.from(`\r\n--${edge}--\r\n`)];
      const to = `${url}/api/collections/papers/records`;
      const { id, content: name } = answered<{ id: string; content: string }>(
        await http.send(to, { headers, body }),
      );
      return `${url}/api/files/papers/${id}/${name}`;
    },
  };
}

/**
 * Runs requests on all connections.
 * @returns requests per second
 */
async function load(roundMs: number, act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  let count = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      do {
        await act();
        count++;
      } while (performance.now() - began < roundMs);
    }),
  );
  return (count / (performance.now() - began)) * 1_000;
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** Measures downloads and uploads. An upload includes the write of the entry that refers to the file. */
export async function files(dir: string, stand: Stand, token: string): Promise<Record<string, string>> {
  const peer = await startFiles(join(dir, "pocketbase"));
  const rows: Record<string, string> = {};
  try {
    const places = [await ourPlace(stand, token), pocketbasePlace(peer)];
    const told = () =>
      places
        .flatMap(({ pids }) => Object.entries(pids))
        .map(([name, pid]) => `${name} ${memoryMiB(pid).toFixed(0)}`)
        .join(", ");
    rows["memory before, MiB"] = told();
    for (const { name, bytes, roundMs, rounds } of SIZES) {
      const base = randomBytes(bytes);
      const figures = new Map<string, number[]>();
      const note = (what: string, value: number) => figures.set(what, [...(figures.get(what) ?? []), value]);
      const addresses = new Map<Place, string>();
      for (let round = 0; round < rounds; round++) {
        for (const place of places) {
          using http = new Http();
          const upload = async () => {
            const content = bytes < 50_000_000 ? Buffer.from(base) : base;
            // Change the content for each upload. Otherwise the platform would find that it already stores it.
            randomBytes(16).copy(content);
            addresses.set(place, await place.upload(http, content));
          };
          note(`${place.name} up`, await load(roundMs, upload));
          const address = addresses.get(place) ?? "";
          const downloads = { bytes, connections: CONNECTIONS, roundMs };
          if (round === 0) await loadDownloads(address, downloads);
          note(`${place.name} down`, await loadDownloads(address, downloads));
        }
      }
      for (const way of ["up", "down"]) {
        const [ours = 0, theirs = 0] = places.map((place) =>
          median(figures.get(`${place.name} ${way}`) ?? []),
        );
        rows[`${name} ${way}`] =
          `host ${ours.toFixed(1)}/s, PocketBase ${theirs.toFixed(1)}/s: ${(ours / theirs).toFixed(2)}`;
      }
      rows[`${name}: memory, MiB`] = told();
    }
  } finally {
    await peer.stop();
  }
  printPairs(`Files: requests a second at ${CONNECTIONS} connections; host : PocketBase`, rows);
  return rows;
}
