/**
 * Serves the entries of all applications under generic paths. The definition of the application decides what a path
 * refers to.
 */
import type { Context } from "hono";
import { tryDecodeURIComponent } from "hono/utils/url";
import { type Actor, anonymous } from "../../shared/access/actor.ts";
import { isOrbId } from "../../shared/definition/document/ids.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { lastLive, liveOrb, noLiveOrb } from "../../shared/definition/stored/live.ts";
import { lastOf } from "../../shared/entry/read/list.ts";
import { fileDefinitions } from "../files/definitions.ts";
import { resumableDefinitions } from "../files/resumable-definitions.ts";
import { isUpload, serveFile } from "../files/serve.ts";
import { wrongMethod } from "../http/problem.ts";
import { newRouter } from "../http/router.ts";
import { beginCaller, hasCredentials, receiveEarly } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { type Address, addressOf, isFilePath, isHandler, METHODS, servesFiles } from "./address.ts";
import { definitions } from "./definitions.ts";
import { callHandler, callRoute } from "./handlers.ts";
import { get, list } from "./read.ts";
import { revision, revisions } from "./revisions.ts";
import { create, operate, remove, revert, update } from "./write.ts";
import { removeMany, updateMany } from "./write-many.ts";

/** Returns the decoded segments of the path below `/api/{orbId}/`. */
function segmentsOf(c: Context<AppEnv>): string[] {
  return c.req.path.split("/").slice(3).map(tryDecodeURIComponent);
}

const isRead = (c: Context<AppEnv>) => c.req.method === "GET" || c.req.method === "HEAD";

/**
 * Starts to read the last sequence number of the application's stream. A list that begins with the newest entry starts
 * there.
 */
function lookAhead(c: Context<AppEnv>, orb: string): Promise<number | undefined> | undefined {
  if (!isRead(c) || c.get("deps").store.isCached === true) return undefined;
  const { search } = new URL(c.req.url);
  if (!search.includes("sort=-createdAt") || /[?&](cursor=|filter)/.test(search)) return undefined;
  const last = lastOf(c.get("deps"), orb);
  last.catch(() => undefined);
  return last;
}

const ROUTES: Record<Address["kind"], string> = {
  handler: "/api/{orbId}/{handler}",
  collection: definitions.list.path,
  entry: definitions.get.path,
  operation: "/api/{orbId}/{moduleId}/{schemaId}/{id}/{operation}",
  revisions: definitions.revisions.path,
  revision: definitions.revision.path,
  revert: definitions.revert.path,
};

interface SpeculativeRead {
  live: LiveOrb;
  answer: Promise<Response>;
}

/**
 * Speculative read: prepares a response with the last known definition while the current definition is still loading.
 * This saves a broker round trip.
 */
function begin(c: Context<AppEnv>, orb: string, segments: readonly string[]): SpeculativeRead | undefined {
  if (!isRead(c) || hasCredentials(c) || c.get("deps").store.isCached === true) return undefined;
  const live = lastLive(orb);
  // A live list stays open, so do not start one with a definition that may be outdated.
  if (c.req.query("live") !== undefined) return undefined;
  // A call may have side effects, so never call a handler before the definition is confirmed.
  if (live === undefined || isHandler(live.compiled, segments)) return undefined;
  const answer = answerBy(c, live, segments, async () => anonymous, lookAhead(c, orb));
  answer.catch(() => undefined);
  return { live, answer };
}

/** Returns whether a PATCH goes to a handler and has a body of unknown length. Such a body is streamed to the service. */
async function mayStream(c: Context<AppEnv>, orb: string, segments: readonly string[]): Promise<boolean> {
  if (c.req.header("content-length") !== undefined) return false;
  const live = await liveOrb(c.get("deps"), orb, "stale");
  return live !== null && isHandler(live.compiled, segments);
}

async function serve(c: Context<AppEnv>, segments: readonly string[]): Promise<Response> {
  const orb = c.req.param("orbId") ?? "";
  c.set("route", "/api/{orbId}/…");
  if (!isOrbId(orb)) throw noLiveOrb();
  const toFiles = isFilePath(segments);
  const upload = toFiles && isUpload(c, segments);
  const streams = c.req.method === "PATCH" && (await mayStream(c, orb, segments));
  if (!isRead(c) && !upload && !streams) await receiveEarly(c);
  if (toFiles) {
    // An upload may take long, and its session could end meanwhile. So authenticate it only after its body was
    // received.
    const caller = upload ? undefined : beginCaller(c, orb);
    const live = await liveOrb(c.get("deps"), orb, isRead(c) ? "cached" : "leader");
    if (live === null) throw noLiveOrb();
    if (servesFiles(live.compiled)) return serveFile(c, live, segments, caller);
  }
  const suspicion = begin(c, orb, segments);
  const caller = beginCaller(c, orb);
  const last = suspicion === undefined ? lookAhead(c, orb) : undefined;
  const live = await liveOrb(c.get("deps"), orb, hasCredentials(c) ? "cached" : "stale");
  if (suspicion !== undefined) {
    if (live === suspicion.live) return suspicion.answer;
    // The definition has changed, so the result of the speculative read is outdated. Wait for that read to end before
    // starting another one.
    await suspicion.answer.catch(() => undefined);
  }
  if (live === null) throw noLiveOrb();
  return answerBy(c, live, segments, caller, last);
}

async function answerBy(
  c: Context<AppEnv>,
  live: LiveOrb,
  segments: readonly string[],
  caller: (usesAccess: boolean) => Promise<Actor>,
  last: Promise<number | undefined> | undefined,
): Promise<Response> {
  const address = addressOf(live.compiled, segments);
  c.set("route", ROUTES[address.kind]);
  const { usesAccess } = live.compiled;
  if (address.kind === "handler") return callHandler(c, live, await caller(usesAccess), address);
  const { method } = c.req;
  if (!METHODS[address.kind].includes(method)) return wrongMethod(c, METHODS[address.kind]);
  return answer(c, live, address, { actor: await caller(usesAccess), last });
}

function answer(
  c: Context<AppEnv>,
  live: LiveOrb,
  address: Exclude<Address, { kind: "handler" }>,
  found: { actor: Actor; last: ReturnType<typeof lookAhead> },
): Promise<Response> {
  const { actor, last } = found;
  const act = { c, live, schema: address.schema, actor };
  switch (address.kind) {
    case "collection":
      if (c.req.method === "POST") return create(act);
      if (c.req.method === "PATCH") return updateMany(act);
      return c.req.method === "DELETE" ? removeMany(act) : list(act, last);
    case "operation":
      return operate(act, address.id, address.operation);
    case "revisions":
      return revisions(act, address.id);
    case "revision":
      return revision(act, address.id, address.revision);
    case "revert":
      return revert(act, address.id, address.revision);
    default:
      if (c.req.method === "PUT") return update(act, address.id);
      if (c.req.method === "PATCH") return update(act, address.id, "patch");
      return c.req.method === "DELETE" ? remove(act, address.id) : get(act, address.id);
  }
}

/** Mount these routes last, because they match all other URLs of an application. */
export function runtimeRoutes() {
  const router = newRouter();
  const described = [fileDefinitions, resumableDefinitions, definitions].flatMap((each) =>
    Object.values(each),
  );
  for (const definition of [callRoute, ...described]) router.openAPIRegistry.registerPath(definition);
  router.all("/api/:orbId/*", (c) => {
    const segments = segmentsOf(c);
    return segments.length === 0 ? c.notFound() : serve(c, segments);
  });
  return router;
}
