/**
 * The floor: the least that a request to the functions can cost. A bare worker that connects to the broker with the
 * client library, asks for stored messages and answers, and nothing else.
 * `GET /pong` answers at once; `GET /get/<stream>/<subject>?n=2` asks so many direct gets in parallel;
 * `GET /list/<stream>/<filter>?heads=<prefix>` reads an index page, then the heads and lives in one request;
 * `PUT /append/<stream>/<subject>` reads the last message and appends one with the expectation.
 */
import { connect, headers, type NatsConnection } from "nats.ws";

interface Env {
  NATS_URL: string;
  NATS_USER: string;
  NATS_PASS: string;
}

interface Context {
  waitUntil(promise: Promise<unknown>): void;
}

const open = (env: Env): Promise<NatsConnection> =>
  connect({
    servers: env.NATS_URL,
    user: env.NATS_USER,
    pass: env.NATS_PASS,
    inboxPrefix: `_INBOX.${env.NATS_USER}`,
    reconnect: false,
    noAsyncTraces: true,
  });

/** One request whose answer is many messages and a last one with a status. */
function many(nc: NatsConnection, user: string, subject: string, body: unknown): Promise<Uint8Array[]> {
  const inbox = `_INBOX.${user}.${crypto.randomUUID()}`;
  const found: Uint8Array[] = [];
  return new Promise((resolve) => {
    const subscription = nc.subscribe(inbox, {
      callback: (_, message) => {
        if ((message.headers?.code ?? 0) === 0) {
          found.push(message.data);
          return;
        }
        subscription.unsubscribe();
        resolve(found);
      },
    });
    nc.publish(subject, JSON.stringify(body), { reply: inbox });
  });
}

async function act(
  nc: NatsConnection,
  user: string,
  request: Request,
  path: string[],
  query: URLSearchParams,
) {
  const [kind, stream = "", subject = ""] = path;
  const direct = `$JS.API.DIRECT.GET.${stream}`;
  switch (kind) {
    case "get": {
      const asked = Array.from({ length: Number(query.get("n") ?? 1) }, () =>
        nc.request(`${direct}.${subject}`),
      );
      return (await Promise.all(asked)).at(-1)?.data ?? null;
    }
    case "list": {
      const limit = Number(query.get("limit") ?? 50);
      // The definition, then the index, then what the index names: as many requests as the platform's own page.
      const [index] = await Promise.all([
        many(nc, user, direct, { next_by_subj: subject, seq: 1, batch: limit }),
        nc.request(`$JS.API.DIRECT.GET.${query.get("first")}`),
      ]);
      const heads = Array.from({ length: index.length }, (_, i) => `${query.get("heads")}${i}`);
      const items = await many(nc, user, direct, { multi_last: heads, batch: 1024 });
      return new Blob(items as BlobPart[]);
    }
    case "append": {
      const last = await nc.request(`${direct}.${subject}`);
      const more = headers();
      more.set("Nats-Expected-Last-Subject-Sequence", last.headers?.get("Nats-Sequence") || "0");
      const body = new Uint8Array(await request.arrayBuffer());
      return (await nc.request(subject, body, { headers: more, timeout: 4000 })).data;
    }
    default:
      return null;
  }
}

export default {
  async fetch(request: Request, env: Env, context: Context): Promise<Response> {
    const url = new URL(request.url);
    const path = url.pathname.slice(1).split("/").map(decodeURIComponent);
    if (path[0] === "pong") return new Response("pong");
    const nc = await open(env);
    const body = await act(nc, env.NATS_USER, request, path, url.searchParams);
    context.waitUntil(nc.close());
    return new Response(body as BodyInit | null, { headers: { "content-type": "application/json" } });
  },
};
