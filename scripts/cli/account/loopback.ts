/** Receives the response of the sign-in page at a loopback URL (RFC 8252). */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CommandError } from "../command/context.ts";

/** The response that the browser delivered. */
export interface Answer {
  /** Null if the user refused. */
  code: string | null;
  /** Redirects the browser to a URL. Resolves once the redirect has been sent. */
  leadTo(url: string): Promise<void>;
}

export interface Listener extends AsyncDisposable {
  /** Address that receives the response. */
  redirect: string;
  /** Local URL that redirects to the sign-in page. It works once. */
  start: string;
  /** Resolves when the browser returns from the sign-in page. Ignores requests with another sign-in's `state`. */
  answer: Promise<Answer>;
  /** Sets the URL of the platform's sign-in page. */
  leadsTo(url: string): void;
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function reply(response: ServerResponse, status: number, text: string, headers = {}): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    connection: "close",
    ...headers,
  });
  response.end(`${text}\n`);
}

function redirectTo(response: ServerResponse, url: string): void {
  reply(response, 303, "Your browser is being sent on.", { location: url });
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Returns whether two URLs name the same platform. All loopback names are equal. */
export function isSameOrigin(a: string, b: string): boolean {
  if (!URL.canParse(a) || !URL.canParse(b)) return false;
  const [left, right] = [new URL(a), new URL(b)];
  if (left.origin === right.origin) return true;
  const local = LOOPBACK.has(left.hostname) && LOOPBACK.has(right.hostname);
  return local && left.port === right.port && left.protocol === right.protocol;
}

async function serve(receive: RequestListener): Promise<Server> {
  // Loading this module takes a quarter of a command's start, and most commands need no server.
  const { createServer } = await import("node:http");
  const server = createServer(receive);
  await new Promise<void>((ready, failed) => {
    server.once("error", failed);
    server.listen(0, "127.0.0.1", ready);
  });
  return server;
}

/**
 * Listens on a free port of 127.0.0.1.
 * @param expected.state secret that the response must contain, so that no other page or program can forge a response
 * @param expected.url URL of the platform. A response from another platform is an error, because the platform at this
 * URL must not receive the other platform's code.
 */
export async function listen(expected: { state: string; url: string }): Promise<Listener> {
  let target: string | undefined;
  let resolve: (answer: Answer) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const answer = new Promise<Answer>((resolves, rejects) => {
    resolve = resolves;
    reject = rejects;
  });
  // If the command ends before it awaits the response, this prevents an unhandled rejection.
  answer.catch(() => undefined);
  let host = "";

  function receive(request: IncomingMessage, response: ServerResponse): void {
    // A different host name means that a web page sent the request, by DNS rebinding.
    if (request.headers.host !== host || request.method !== "GET") {
      reply(response, 400, "This address is only for the sign-in of orb.");
      return;
    }
    const { pathname, searchParams } = new URL(request.url ?? "/", `http://${host}`);
    if (pathname === "/start") start(response);
    else if (pathname === "/callback") finish(response, searchParams);
    else reply(response, 404, "There is nothing here.");
  }

  /**
   * Opens the browser at a local URL, which redirects to the sign-in page. The URL of the sign-in page contains the
   * secret state, and other users of this computer can see the arguments of a process.
   */
  function start(response: ServerResponse): void {
    if (target === undefined) {
      reply(response, 410, "This address works once. Open the address that the terminal shows.");
      return;
    }
    redirectTo(response, target);
    target = undefined;
  }

  function finish(response: ServerResponse, parameters: URLSearchParams): void {
    if (!same(parameters.get("state") ?? "", expected.state)) {
      reply(response, 400, "This answer does not belong to the sign-in that the terminal waits for.");
      return;
    }
    const issuer = parameters.get("iss") ?? "";
    if (!isSameOrigin(issuer, expected.url)) {
      reply(response, 400, "This answer is of another platform. The terminal says more.");
      reject(
        new CommandError(
          `${expected.url} sent your browser to the platform ${issuer}. Nothing was stored. If you trust that address, run: orb login --url ${issuer}`,
        ),
      );
      return;
    }
    const leadTo = (url: string) =>
      new Promise<void>((done) => {
        response.once("close", done);
        redirectTo(response, url);
      });
    const code = parameters.get("code");
    if (code === null && parameters.get("error") !== "access_denied") {
      reply(response, 400, "This answer has no code.");
      return;
    }
    resolve({ code, leadTo });
  }

  const server = await serve(receive);
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    redirect: `http://${host}/callback`,
    start: `http://${host}/start`,
    answer,
    leadsTo(url) {
      target = url;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
