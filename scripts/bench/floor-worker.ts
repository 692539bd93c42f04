/**
 * The lower bound for the platform's figures: a worker that makes only the broker requests that the platform cannot
 * avoid.
 *
 * - `/pong` responds at once.
 * - `/get?get=<stream>/<subject>&…` reads messages in parallel.
 * - `/list?get=…&index=<stream>/<filter>&of=<prefix>&…` reads a definition and 50 index messages, then the entries. Their
 * ids are the bodies of the index messages, or the last parts of their subjects if the filter is a wildcard.
 * - `/write?get=…&put=<subject>&put=…` reads messages, and then appends the body to each subject. `{n}` becomes a
 * unique value.
 */
import { connect, type Msg, type NatsConnection } from "nats.ws";

interface Env {
  NATS_URL: string;
  NATS_USER: string;
  NATS_PASS: string;
}

const LIST_SIZE = 50;
const inboxOf = (env: Env) => `_INBOX.${env.NATS_USER}`;

function open(env: Env): Promise<NatsConnection> {
  return connect({
    servers: env.NATS_URL,
    user: env.NATS_USER,
    pass: env.NATS_PASS,
    inboxPrefix: inboxOf(env),
    reconnect: false,
    noAsyncTraces: true,
  });
}

const cut = (place: string): [string, string] => {
  const slash = place.indexOf("/");
  return [place.slice(0, slash), place.slice(slash + 1)];
};

function get(nc: NatsConnection, place: string): Promise<Msg> {
  const [stream, subject] = cut(place);
  return nc.request(`$JS.API.DIRECT.GET.${stream}.${subject}`);
}

/** Sends a request that gets many response messages. The last of them contains a status. */
function many(nc: NatsConnection, inbox: string, stream: string, body: unknown): Promise<Msg[]> {
  const found: Msg[] = [];
  return new Promise((resolve) => {
    const subscription = nc.subscribe(inbox, {
      callback: (_, message) => {
        if ((message.headers?.code ?? 0) === 0) {
          found.push(message);
          return;
        }
        subscription.unsubscribe();
        resolve(found);
      },
    });
    nc.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(body), { reply: inbox });
  });
}

async function list(nc: NatsConnection, env: Env, query: URLSearchParams): Promise<BodyInit> {
  const [stream, filter] = cut(query.get("index") ?? "");
  const inbox = `${inboxOf(env)}.${crypto.randomUUID()}`;
  const [index] = await Promise.all([
    many(nc, `${inbox}.index`, stream, { next_by_subj: filter, seq: 1, batch: LIST_SIZE }),
    ...query.getAll("get").map((place) => get(nc, place)),
  ]);
  const ids = index.map((message) =>
    filter.endsWith("*") ? (message.headers?.get("Nats-Subject").split(".").at(-1) ?? "") : message.string(),
  );
  const prefixes = query.getAll("of");
  const names = ids.flatMap((id) => prefixes.map((prefix) => `${prefix}${id}`));
  const items = await many(nc, `${inbox}.items`, stream, { multi_last: names, batch: 1024 });
  return `{"items":[${items.map((item) => item.string()).join(",")}]}`;
}

async function write(nc: NatsConnection, request: Request, query: URLSearchParams): Promise<BodyInit> {
  const body = new Uint8Array(await request.arrayBuffer());
  await Promise.all(query.getAll("get").map((place) => get(nc, place)));
  const id = crypto.randomUUID();
  const acknowledged = await Promise.all(
    query.getAll("put").map((subject) => nc.request(subject.replace("{n}", id), body, { timeout: 4000 })),
  );
  return acknowledged.at(-1)?.string() ?? "";
}

export default {
  async fetch(
    request: Request,
    env: Env,
    context: { waitUntil(work: Promise<unknown>): void },
  ): Promise<Response> {
    const { pathname, searchParams: query } = new URL(request.url);
    if (pathname === "/pong") return new Response("pong");
    const nc = await open(env);
    let body: BodyInit;
    if (pathname === "/list") body = await list(nc, env, query);
    else if (pathname === "/write") body = await write(nc, request, query);
    else
      body = (await Promise.all(query.getAll("get").map((place) => get(nc, place)))).at(-1)?.string() ?? "";
    context.waitUntil(nc.close());
    return new Response(body, { headers: { "content-type": "application/json" } });
  },
};
