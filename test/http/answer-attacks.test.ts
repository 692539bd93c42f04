import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { NodeFunctions } from "../../scripts/host/node.ts";
import { call } from "../support/auth.ts";
import { catalogOf, type Near, startNear } from "../support/near.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

/** Malformed and hostile requests to a host that caches responses. */
let platform: TestPlatform;
let served: Near;
let host: NodeFunctions;
let token: string;
let port: number;
const log: Record<string, unknown>[] = [];

const product = (orb: string, rest = "") => `/api/${orb}/catalog/product${rest}`;

const orbOf = (id: string, fields: object[] = []) =>
  served.orb(catalogOf(id, [{ name: "title", type: "string" }, ...fields]));
const published = (orb: string, values: object) => served.published(product(orb), values);

async function warm(address: string): Promise<void> {
  for (let i = 0; i < 50; i++) {
    const { given } = host.answers();
    await ask(address);
    if (host.answers().given > given) return;
    await pause(20);
  }
  throw new Error(`${address} never comes from the cache`);
}

/** Sends bytes over one connection and collects the response until the connection closes. */
function talk(
  bytes: string,
  then: (socket: ReturnType<typeof connect>, got: string) => void,
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let got = "";
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      got += text;
      then(socket, got);
    });
    socket.on("error", () => undefined);
    socket.once("close", () => resolve(got));
    // Call `then` only after the bytes have been written: bytes still in the buffer would be lost with the connection.
    socket.write(bytes, "latin1", () => then(socket, got));
  });
}

/** Sends a plain GET with this Host header. */
const ask = (address: string, name = "localhost") =>
  talk(`GET ${address} HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`, () => undefined);

const statuses = (got: string) =>
  [...got.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

beforeAll(async () => {
  platform = await sharedPlatform();
  served = await startNear(platform, {}, (line) => log.push(JSON.parse(line) as Record<string, unknown>));
  ({ host, port, token } = served);
});
afterAll(async () => {
  await host?.stop();
});

test("never caches a response under another URL because of a Host header that contains a path", async () => {
  const mine = await orbOf("attack-mine");
  const theirs = await orbOf("attack-theirs");
  const good = await published(mine, { title: "good" });
  const evil = await published(theirs, { title: "evil" });
  // An internationalized name grows when it is converted to ASCII. Search for one whose converted form is as long as
  // the name with its path.
  let name = "";
  const target = product(theirs, `/${evil}`);
  for (let labels = 1; name === ""; labels++)
    for (let fill = 0; fill < 10 && name === ""; fill++) {
      const tried = `${Array(labels).fill("\u00e9").join(".")}${target}#${"p".repeat(fill)}`;
      if (new URL(`http://${tried}`).hostname.length === tried.length) name = tried;
    }
  const address = product(mine, `/${good}`);
  for (let i = 0; i < 10; i++) {
    const got = await ask(address, name);
    expect(statuses(got)).toEqual([400]);
    expect(got).toContain('"invalid_host"');
  }
  for (const plain of ["localhost:8787", "[::1]:8787", "LOCALHOST", "127.0.0.1:1"])
    expect(await ask(address, plain)).toContain('"good"');
  for (let i = 0; i < 10; i++) expect(await ask(address)).toContain('"good"');
});

test("handles pipelined requests, GET with a body, Expect: 100-continue and HTTP/1.0", async () => {
  const orb = await orbOf("attack-wire");
  const id = await published(orb, { title: "wire" });
  const address = product(orb, `/${id}`);
  await warm(address);
  const get = (more = "", body = "") => `GET ${address} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n${body}`;
  const { given } = host.answers();
  const got = await talk(
    get() +
      get("Content-Length: 4\r\n", "body") +
      get("Transfer-Encoding: chunked\r\n", "4\r\nbody\r\n0\r\n\r\n") +
      get("If-None-Match: *\r\n") +
      get('If-None-Match: W/"x", "y"\r\nAuthorization: \r\n') +
      get("Connection: close\r\n"),
    () => undefined,
  );
  expect(statuses(got)).toEqual([200, 200, 200, 304, 401, 200]);
  expect(host.answers().given - given).toBe(5);
  expect(got.split('"title":"wire"').length - 1).toBe(4);
  const expecting = get("Expect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n", "body");
  expect(statuses(await talk(expecting, () => undefined))).toEqual([100, 200]);
  const old = await talk(`GET ${address} HTTP/1.0\r\nHost: localhost\r\n\r\n`, () => undefined);
  expect(statuses(old)).toEqual([200]);
  const kept = await talk(
    `GET ${address} HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n`,
    (socket, text) => text.includes('"wire"') && socket.end(),
  );
  expect(kept.toLowerCase()).toContain("connection: keep-alive");
});

test("stays within its memory limit when clients disconnect without reading their responses", async () => {
  const orb = await orbOf("attack-leaving", [{ name: "body", type: "text" }]);
  const id = await published(orb, { title: "gone", body: "x".repeat(100_000) });
  const address = product(orb, `/${id}`);
  await warm(address);
  const many = `GET ${address} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(500);
  await talk(many, (socket) => socket.resetAndDestroy());
  await talk(many, (socket, got) => got === "" || socket.destroy());
  await talk(many, (socket, got) => got === "" || socket.end());
  const { bytes } = host.answers();
  expect(bytes).toBeLessThan(2 * 1024 * 1024);
  expect(statuses(await ask(address))).toEqual([200]);
});

test("logs a cached response with the same fields as an uncached one", async () => {
  const orb = await orbOf("attack-told");
  const id = await published(orb, { title: "told" });
  for (const address of [product(orb, `/${id}`), `/api/${orb}/catalog/${id}`]) {
    log.length = 0;
    await warm(address);
    const lines = log.filter(({ message }) => message === "request");
    const plain = lines.map(({ requestId: _, trace: __, durationMs, time, ts, ...line }) => {
      expect(typeof durationMs).toBe("number");
      return line;
    });
    expect(plain.length).toBeGreaterThan(1);
    expect(plain.at(-1)).toEqual(plain[0]);
    expect(Object.keys(lines.at(-1) ?? {})).toEqual(Object.keys(lines[0] ?? {}));
  }
});

test("answers 413 for too large a body, and logs each request whose client disconnects", async () => {
  const orb = await orbOf("attack-bodies");
  const head = (length: string, more = "") =>
    `POST ${product(orb)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${length}${more}\r\n`;
  const large = 600 * 1024;
  // The connection stays usable.
  const next = `GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  expect(
    statuses(await talk(head(`Content-Length: ${large}\r\n`) + " ".repeat(large) + next, () => undefined)),
  ).toEqual([413, 200]);
  const chunk = `${large.toString(16)}\r\n${" ".repeat(large)}\r\n0\r\n\r\n`;
  expect(
    statuses(await talk(head("Transfer-Encoding: chunked\r\n") + chunk + next, () => undefined)),
  ).toEqual([413, 200]);
  // Each request is logged once, whatever happens to its client.
  const posts = () => log.filter(({ message, method }) => message === "request" && method === "POST");
  for (const [what, bytes] of [
    ["half a body", `${head("Content-Length: 100\r\n")}{"values"`],
    ["a whole body", `${head("Content-Length: 13\r\n")}{"values":{}}`],
    ["half a chunk", `${head("Transfer-Encoding: chunked\r\n")}ff\r\n{"values"`],
    ["all chunks", `${head("Transfer-Encoding: chunked\r\n")}d\r\n{"values":{}}\r\n0\r\n\r\n`],
  ] as const) {
    for (const wait of [0, 1, 3, 10]) {
      log.length = 0;
      await talk(bytes, (socket) => void setTimeout(() => socket.destroy(), wait));
      await expect.poll(() => posts().length, { message: `${what} after ${wait} ms` }).toBe(1);
    }
  }
});

test("shows nothing of a deleted orb after another process recreates it", async () => {
  const orb = await orbOf("attack-anew");
  const id = await published(orb, { title: "former" });
  const addresses = [product(orb), product(orb, "?sort=-createdAt"), product(orb, `/${id}`)];
  await warm(product(orb, `/${id}`));
  for (let i = 0; i < 5; i++) for (const address of addresses) expect(await ask(address)).toContain("former");
  expect((await call(platform, "DELETE", `/api/admin/orbs/${orb}`, { token })).status).toBe(204);
  await orbOf(orb);
  await expect.poll(async () => statuses(await ask(product(orb)))).toEqual([200]);
  for (const address of addresses) expect(await ask(address)).not.toContain("former");
});
