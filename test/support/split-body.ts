/** Requests whose body arrives in two parts, and the list of all routes that take a body. */
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { createApp } from "../../functions/app.ts";
import { generated, operationsOf } from "../../functions/discovery/document.ts";
import { isWhole } from "./raw.ts";

/**
 * Waits until the functions have received the first parts of all started requests, and have done everything that they
 * do before the bodies. There is no signal for this moment. So also sends a few requests that need the same work: on a
 * busy machine, they take longer, too.
 */
export async function whenReached(origin: string, token: string): Promise<void> {
  await wait(250);
  for (let n = 0; n < 3; n++)
    await (await fetch(`${origin}/api/_auth/me`, { headers: { authorization: `Bearer ${token}` } })).text();
}

/** The header that tells where the body of a request ends. */
export const TRANSFERS = ["Content-Length", "chunked"] as const;
export type Transfer = (typeof TRANSFERS)[number];

export interface SplitRequest {
  method: string;
  path: string;
  body: string;
  /** Token of the caller. */
  by?: string | undefined;
  type?: string;
  headers?: Record<string, string>;
}

export interface SplitAnswer {
  status: number;
  body: string;
}

/** A request whose head and half of the body were sent. */
export interface SlowRequest {
  /** Sends the rest of the body and returns the response. */
  finish(): Promise<SplitAnswer>;
}

/** Returns the head of a request in HTTP/1.1: request line and headers. */
export function headOf(origin: string, request: SplitRequest, transfer: Transfer, close = true): string {
  const { method, path, body, by, type = "application/json", headers = {} } = request;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(origin).host}`,
    ...(close ? ["Connection: close"] : []),
    ...(by === undefined ? [] : [`Authorization: Bearer ${by}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Type: ${type}`,
    transfer === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** The two parts of a body, as they are sent. */
export function halvesOf(body: string, transfer: Transfer): [string, string] {
  const half = Math.floor(body.length / 2);
  const [first, last] = [body.slice(0, half), body.slice(half)];
  if (transfer !== "chunked") return [first, last];
  const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  return [chunk(first), `${chunk(last)}0\r\n\r\n`];
}

/** Sends the head of a request and half of its body. */
export function beginSplit(
  origin: string,
  request: SplitRequest,
  transfer: Transfer = "Content-Length",
): SlowRequest {
  const socket: Socket = connect(Number(new URL(origin).port), "127.0.0.1");
  let got = "";
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  // Latin-1 has one character per byte, so string lengths equal byte lengths. workerd keeps connections open despite
  // "Connection: close".
  socket.setEncoding("latin1").on("data", (text: string) => {
    got += text;
    if (isWhole(got, request.method)) resolve();
  });
  socket.once("close", resolve);
  socket.once("error", () => undefined);
  const [first, last] = halvesOf(request.body, transfer);
  socket.write(headOf(origin, request, transfer) + first);
  return {
    async finish() {
      socket.write(last);
      await Promise.race([answered, wait(30_000)]);
      socket.destroy();
      return { status: Number(got.split(" ")[1] ?? 0), body: got.slice(got.indexOf("\r\n\r\n") + 4) };
    },
  };
}

/** A route that takes a body. */
export interface BodyRoute {
  method: string;
  path: string;
  /** Whether the body is JSON Lines. */
  lines: boolean;
  /** Whether callers without an account can use it. */
  open: boolean;
}

/** Lists every route that takes a body, from the route tables of the app. */
export function bodyRoutes(): BodyRoute[] {
  const app = createApp(() => {
    throw new Error("this test needs no host");
  });
  const twins = app.own.routes
    .filter(({ method, path }) => ["POST", "PUT", "PATCH"].includes(method) && path.startsWith("/api/_orbs"))
    .map(({ method, path }) => ({ method, path: path.replace(/:([A-Za-z]+)/g, "{$1}") }));
  const described = [app.own, app.runtime].flatMap((half) =>
    operationsOf(generated(half).paths).flatMap(({ method, path, operation }) => {
      const content = operation.requestBody?.content;
      // A call route takes the body of its handler.
      const takes = content !== undefined || path.endsWith("/call/{handler}");
      const lines = Object.keys(content ?? {}).some((type) => type.includes("ndjson"));
      const open = operation.security.length === 0;
      return takes ? [{ method: method.toUpperCase(), path, lines, open }] : [];
    }),
  );
  const more = twins.flatMap(({ method, path }) => {
    const one = described.find(
      (other) => other.method === method && other.path === path.replace("/api/_orbs", "/api/admin/orbs"),
    );
    return one === undefined ? [] : [{ ...one, path }];
  });
  const all = new Map([...described, ...more].map((route) => [`${route.method} ${route.path}`, route]));
  return [...all.values()];
}
