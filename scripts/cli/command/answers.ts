/** Protects commands from what a server answers: redirects to other servers, and answers without end. */
import { Problem } from "../../../shared/client/problem.ts";

const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Maximum bytes that a command keeps in memory: of one answer, or of one line or event of a stream. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Streams may be served by a program of their own. Its address then contains a ticket instead of the token. */
const STREAMS = /^\/api\/streams\//;
/** Results of an upload, one in each line. */
const RESULTS = /^\/api\/admin\/orbs\/[^/]+\/entries\/bulk$/;

const refusal = (code: string, detail: string) => new Problem(502, { code, detail }, null);

/** Returns where a redirect leads, or throws if following it would give the request to another server. */
function target(response: Response, from: URL, method: string): URL {
  const location = response.headers.get("location") ?? "";
  if (!URL.canParse(location, from)) throw refusal("bad_redirect", `${from.origin} sent a wrong redirect.`);
  const to = new URL(location, from);
  const isRead = method === "GET" || method === "HEAD";
  if (isRead && to.origin === from.origin) return to;
  const keepsSecret = to.protocol === "https:" || (to.protocol === "http:" && from.protocol === "http:");
  if (isRead && keepsSecret && STREAMS.test(from.pathname) && STREAMS.test(to.pathname)) return to;
  throw refusal(
    "redirected",
    `${from.origin} sent the request on to ${to.origin}. Nothing was sent there. If you trust that address, use it as --url.`,
  );
}

/**
 * Returns the text up to which an answer needs no memory any more; undefined if a command reads it as a whole. The
 * request decides, because a server could name a type that is read in parts for an answer that is not. A control event
 * counts only where an event begins, because the data of other events may contain its name.
 */
function endOfPart({ ok, headers }: Response, { pathname }: URL): string | undefined {
  const type = headers.get("content-type") ?? "";
  if (ok && STREAMS.test(pathname) && type.startsWith("text/event-stream")) return "\n\nevent: control\n";
  return ok && RESULTS.test(pathname) ? "\n" : undefined;
}

/** Returns the response with a body that fails once it would take too much memory. */
function bounded(response: Response, url: URL): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const end = endOfPart(response, url);
  let kept = 0;
  /** The last bytes before the next chunk, which may contain the beginning of an end. */
  let last = Buffer.alloc(0);
  const limited = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const seen = end === undefined ? last : Buffer.concat([last, chunk]);
        const at = end === undefined ? -1 : seen.lastIndexOf(end);
        kept = at < 0 ? kept + chunk.length : seen.length - at;
        if (end !== undefined) last = seen.subarray(Math.max(0, seen.length - end.length + 1));
        if (kept > MOST_BYTES)
          controller.error(
            refusal("answer_too_large", `${url.origin} sent an answer without end. Check the address.`),
          );
        else controller.enqueue(chunk);
      },
    }),
  );
  const made = new Response(limited, { status, statusText, headers });
  // A made response has no address, but a command reads where a redirect led.
  Object.defineProperty(made, "url", { value: url.href });
  return made;
}

/** Returns a `fetch` that sends a request, and the token in it, to no other server than the one it is for. */
const guarded =
  (received: (response: Response, url: URL) => Response): typeof fetch =>
  async (input, init = {}) => {
    const headers = new Headers(init.headers);
    let url = new URL(input instanceof Request ? input.url : input);
    for (let hops = 0; ; hops++) {
      const response = await fetch(url, { ...init, headers, redirect: "manual" });
      if (!REDIRECTS.has(response.status)) return received(response, url);
      await response.body?.cancel();
      if (hops >= MOST_REDIRECTS) throw refusal("bad_redirect", `${url.origin} redirects without end.`);
      const next = target(response, url, init.method ?? "GET");
      if (next.origin !== url.origin) headers.delete("authorization");
      url = next;
    }
  };

/** For answers that a command keeps in memory. */
export const guardedFetch = guarded(bounded);

/** For contents of files, which go to a file or to standard output, not into memory. */
export const contentFetch = guarded((response, url) => (response.ok ? response : bounded(response, url)));
