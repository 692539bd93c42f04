/**
 * Serves the entries of all applications, at both addresses. The paths of published orbs are generic: the definition of
 * the application decides what a path refers to.
 */
import type { Context } from "hono";
import { tryDecodeURIComponent } from "hono/utils/url";
import { type Actor, anonymous, pinnedTo } from "../../shared/access/actor.ts";
import {
  may,
  type Principal,
  principalIn,
  readerIn,
  requireMay,
  setReader,
} from "../../shared/access/authorize.ts";
import type { EntryOperation } from "../../shared/access/credentials/index.ts";
import { otherRevision, previewRefusal } from "../../shared/access/refusals.ts";
import { claimedChange } from "../../shared/access/tokens.ts";
import { isOrbId } from "../../shared/definition/document/index.ts";
import { type LiveOrb, lossHeaders } from "../../shared/definition/live-orb.ts";
import { liveAhead, liveOrb, noLiveOrb } from "../../shared/definition/stored/index.ts";
import { liveFor, noteUse } from "../../shared/entry/pinned/index.ts";
import { lastOf } from "../../shared/entry/read/index.ts";
import { asEntryFault, definition } from "../admin/entry-schemas.ts";
import { BATCH_PATH, batchRoute, callBatch } from "../batch/routes.ts";
import { fileDefinitions } from "../files/definitions.ts";
import { library } from "../files/library.ts";
import { resumableDefinitions } from "../files/resumable-definitions.ts";
import { isUpload, serveFile } from "../files/serve.ts";
import { definitionOf, requireTakenWith } from "../http/definition-header.ts";
import { withNewest } from "../http/newest-definition.ts";
import { PREFIXES } from "../http/prefixes.ts";
import { wrongMethod } from "../http/problem.ts";
import { newRouter } from "../http/router.ts";
import { askingIn, definitionIn } from "../http/within.ts";
import {
  beginCaller,
  hasCredentials,
  mayBeAuthenticated,
  previewTokenOf,
  receiveEarly,
  sendsApiToken,
} from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { addressOf, type EntryAddress, isFilePath, isHandler, servesFiles } from "./address.ts";
import { PATHS } from "./definition-parts.ts";
import { callHandler, callRoute } from "./handlers.ts";
import type { Operation } from "./operation.ts";
import { managedOnly, methodsOf, operationAt, operations } from "./operations.ts";
import { pinnedAddress } from "./pinned.ts";
import { type EntryRequest, ManagedRequest, OrbRequest } from "./request.ts";
import { SEARCH_PATH, searchOrb, searchRoute } from "./search.ts";

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
  if (!isRead(c)) return undefined;
  const { search } = new URL(c.req.url);
  if (!search.includes("sort=-createdAt") || /[?&](cursor=|filter)/.test(search)) return undefined;
  const last = lastOf(c.get("deps"), orb);
  last?.catch(() => undefined);
  return last;
}

const HANDLER_PATH = "/api/{orbId}/{handler}";

interface SpeculativeRead {
  live: LiveOrb;
  answer: Promise<Response>;
}

/**
 * Speculative read: prepares a response with the last known definition while the current definition is still loading.
 * This saves a broker round trip.
 */
function begin(c: Context<AppEnv>, orb: string, segments: readonly string[]): SpeculativeRead | undefined {
  if (!isRead(c) || hasCredentials(c)) return undefined;
  const live = liveAhead(c.get("deps"), orb);
  // A live list stays open, so do not start one with a definition that may be outdated.
  if (c.req.query("live") !== undefined) return undefined;
  // A call may have side effects, so never call a handler before the definition is confirmed.
  if (live === undefined || isHandler(live.compiled, segments)) return undefined;
  const answer = serveWith(c, live, segments, async () => anonymous, lookAhead(c, orb));
  answer.catch(() => undefined);
  return { live, answer };
}

/** Returns whether a PATCH goes to a handler and has a body of unknown length. Such a body is streamed to the service. */
async function mayStream(c: Context<AppEnv>, orb: string, segments: readonly string[]): Promise<boolean> {
  if (c.req.header("content-length") !== undefined) return false;
  const live = await liveOrb(c.get("deps"), orb, "stale");
  return live !== null && isHandler(live.compiled, segments);
}

/**
 * Returns the revision to which the API token of a request is pinned. Does not wait for other callers. The errors of the
 * caller are thrown later, in their usual order.
 */
async function revisionOfToken(
  c: Context<AppEnv>,
  caller: () => Promise<Actor>,
): Promise<number | undefined> {
  if (!sendsApiToken(c)) return undefined;
  return caller().then(pinnedTo, () => undefined);
}

/**
 * Returns the caller of a request that names a revision, and records the use.
 * @throws AppError forbidden `pinned_token` if its API token is pinned to another one
 */
async function pinnedCaller(c: Context<AppEnv>, live: LiveOrb, revision: number): Promise<Actor> {
  if (!isRead(c)) await receiveEarly(c);
  const actor = await beginCaller(c, live.orb, true, isRead(c))(live.compiled.usesAccess);
  const own = pinnedTo(actor);
  if (own !== undefined && own !== revision) throw otherRevision(own);
  noteUse(c.var.deps, live, revision, actor);
  return actor;
}

/** Serves a request in the shape of an earlier revision of the definition. */
async function servePinned(
  c: Context<AppEnv>,
  orb: string,
  segments: readonly string[],
  revision: number,
): Promise<Response> {
  const { deps } = c.var;
  const known = await liveOrb(deps, orb, hasCredentials(c) || !isRead(c) ? "cached" : "stale");
  const isUnknown = !(hasCredentials(c) && (await mayBeAuthenticated(c)));
  const served = known === null ? await liveOrb(deps, orb) : await liveFor(deps, known, revision, isUnknown);
  if (served === null) throw noLiveOrb();
  // Versions of a set that proposes a definition have values which the live one does not know.
  const { usesAccess } = served.compiled;
  const reader = () => beginCaller(c, orb, true, isRead(c))(usesAccess);
  const live = await definitionOfRequest(c, served, segments, reader);
  const found = await pinnedAddress(c, live, segments, revision);
  if (found.address.kind === "handler") {
    c.set("route", HANDLER_PATH);
    const actor = await beginCaller(c, live.orb, true)(live.compiled.usesAccess);
    return callHandler(c, live, actor, found.address);
  }
  if (!("schema" in found)) {
    c.set("route", BATCH_PATH);
    return callBatch(c, live, await pinnedCaller(c, live, revision), revision);
  }
  const { address, schema, pinned } = found;
  c.set("route", PATHS[address.kind]);
  const move = address.kind === "operation" ? address.operation : undefined;
  const operation = operationAt(address.kind, c.req.method, move);
  if (operation === undefined) return wrongMethod(c, methodsOf(address.kind));
  requireTakenWith(c);
  const actor = await pinnedCaller(c, live, revision);
  const caller = readerOf(c, actor, live, { ...address, schema }, operation);
  const request = new OrbRequest({ c, live, schema, caller, operation, pinned });
  return inShape(request, () => answer(request, operation, address));
}

async function serve(c: Context<AppEnv>, segments: readonly string[]): Promise<Response> {
  const orb = c.req.param("orbId") ?? "";
  c.set("route", "/api/{orbId}/…");
  if (!isOrbId(orb)) throw noLiveOrb();
  readWithinLink(c);
  const revision = definitionOf(c);
  const toFiles = isFilePath(segments);
  if (revision !== undefined && !toFiles) return servePinned(c, orb, segments, revision);
  const upload = toFiles && isUpload(c, segments);
  const streams = c.req.method === "PATCH" && (await mayStream(c, orb, segments));
  if (!isRead(c) && !upload && !streams) await receiveEarly(c);
  if (toFiles) {
    // An upload may take long, and its session could end meanwhile. So authenticate it only after its body was
    // received.
    const caller = upload ? undefined : beginCaller(c, orb, true);
    const live = await liveOrb(c.get("deps"), orb, isRead(c) ? "cached" : "leader");
    if (live === null) throw noLiveOrb();
    c.set("lossHeaders", lossHeaders(live.fence?.loss));
    // Files have no shape, so they are the same for all revisions.
    if (servesFiles(live.compiled)) return serveFile(c, live, segments, caller);
    if (revision !== undefined) return servePinned(c, orb, segments, revision);
  }
  const suspicion = begin(c, orb, segments);
  const caller = beginCaller(c, orb, true, isRead(c));
  const last = suspicion === undefined ? lookAhead(c, orb) : undefined;
  const live = await liveOrb(c.get("deps"), orb, hasCredentials(c) ? "cached" : "stale");
  if (suspicion !== undefined) {
    if (live === suspicion.live) return suspicion.answer;
    // The definition has changed, so the result of the speculative read is outdated. Wait for that read to end before
    // starting another one.
    await suspicion.answer.catch(() => undefined);
  }
  if (live === null) throw noLiveOrb();
  const own = await revisionOfToken(c, () => caller(live.compiled.usesAccess));
  if (own !== undefined) return servePinned(c, orb, segments, own);
  return serveWith(c, live, segments, caller, last);
}

/**
 * Lets a request with the token of a preview link read within the change set that the link names, so that the site need
 * not name it. The token is not verified yet.
 */
function readWithinLink(c: Context<AppEnv>): void {
  const token = isRead(c) ? previewTokenOf(c) : undefined;
  const change = token === undefined ? undefined : claimedChange(token);
  if (change === undefined || c.req.query("change") !== undefined) return;
  const url = new URL(c.req.url);
  url.searchParams.set("change", change);
  c.req.raw = new Request(url, { method: c.req.method, headers: c.req.raw.headers });
}

/**
 * Returns the rights with which a request reads or writes entries. The holder of a preview link has those of the link's
 * author, for the link's entry by its address. Everything else looks to the holder as it does to a visitor of the site.
 * @throws AppError forbidden `preview_link` if the request names another change set than the link
 */
function readerOf(
  c: Context<AppEnv>,
  actor: Actor,
  { orb, compiled }: LiveOrb,
  address: EntryAddress,
  { right }: Operation,
): Principal {
  const visitor = principalIn(actor, orb, compiled);
  if (actor.kind !== "preview") return visitor;
  if (c.req.query("change") !== actor.change) throw previewRefusal();
  const isNamed = address.kind === "keyed" || (address.kind === "entry" && address.id === actor.entry);
  if (right !== "read" || !isNamed) return visitor;
  const reader = readerIn(actor, orb, compiled);
  // A key may be that of another entry, of a schema whose drafts the author may not read.
  return may(reader, "readDraft", { access: address.schema.access, own: true }) ? reader : visitor;
}

/**
 * Returns the definition of a request that may be within a change set. Handlers have parameters of their own, and one that
 * is only proposed is not called. Callers who may not read the set learn nothing of what it proposes.
 */
async function definitionOfRequest(
  c: Context<AppEnv>,
  live: LiveOrb,
  segments: readonly string[],
  caller: () => Promise<Actor>,
): Promise<LiveOrb> {
  const change = c.req.query("change");
  if (change === undefined || isHandler(live.compiled, segments)) return live;
  const within = await definitionIn(c.get("deps"), live, change, async () =>
    setReader(await caller(), change),
  );
  return isHandler(within.compiled, segments) ? live : within;
}

/** Serves a request. Reads begin again if a newer definition was published meanwhile. */
function serveWith(
  c: Context<AppEnv>,
  known: LiveOrb,
  segments: readonly string[],
  caller: (usesAccess: boolean) => Promise<Actor>,
  last: Promise<number | undefined> | undefined,
): Promise<Response> {
  if (!isRead(c)) return answerBy(c, known, segments, caller, last);
  const deps = c.get("deps");
  const renew = async () => {
    const now = await liveOrb(deps, known.orb);
    if (now === null) throw noLiveOrb();
    return now;
  };
  return withNewest(deps, known, renew, async (live, pass) =>
    answerBy(c, await live, segments, caller, pass === 1 ? last : undefined),
  );
}

async function answerBy(
  c: Context<AppEnv>,
  given: LiveOrb,
  segments: readonly string[],
  caller: (usesAccess: boolean) => Promise<Actor>,
  last: Promise<number | undefined> | undefined,
): Promise<Response> {
  const { usesAccess } = given.compiled;
  const live = await definitionOfRequest(c, given, segments, () => caller(usesAccess));
  c.set("lossHeaders", lossHeaders(live.fence?.loss));
  const address = addressOf(live.compiled, segments);
  if (address.kind === "batch") {
    c.set("route", BATCH_PATH);
    return callBatch(c, live, await caller(usesAccess));
  }
  if (address.kind === "search") {
    c.set("route", SEARCH_PATH);
    return searchOrb(c, live, await caller(usesAccess));
  }
  c.set("route", address.kind === "handler" ? HANDLER_PATH : PATHS[address.kind]);
  if (address.kind === "handler") {
    const actor = await caller(usesAccess);
    if (actor.kind === "preview") throw previewRefusal();
    return callHandler(c, live, actor, address);
  }
  const move = address.kind === "operation" ? address.operation : undefined;
  const operation = operationAt(address.kind, c.req.method, move);
  if (operation === undefined) return wrongMethod(c, methodsOf(address.kind));
  const principal = readerOf(c, await caller(usesAccess), live, address, operation);
  const { schema } = address;
  const request = new OrbRequest({ c, live, schema, caller: principal, operation, last });
  return answer(request, operation, address);
}

/** Returns the right that a request needs. Nothing is published before its change set is. */
function rightOf(c: Context<AppEnv>, { right }: Operation): EntryOperation {
  const isPending = (right === "publish" || right === "unpublish") && c.req.query("change") !== undefined;
  return isPending ? "update" : right;
}

/** Returns the caller with the rights to ask for a write, which an API token that may only propose has in a set. */
function askingFor({ c, live, caller }: OrbRequest): Principal {
  const asking = askingIn(caller.actor, c.req.query());
  return asking === caller.actor ? caller : principalIn(asking, live.orb, live.compiled);
}

/** @param address of the kind that the operation is for */
function answer(request: OrbRequest, operation: Operation, address: EntryAddress): Promise<Response> {
  const right = rightOf(request.c, operation);
  // A read decides for itself, because a caller may read drafts only, or published revisions only.
  if (right !== "read") requireMay(askingFor(request), right, { access: request.schema.access, own: true });
  return operation.serve(request, address as never);
}

/** Serves a request. Its errors have the names of the revision that the request names. */
async function inShape(request: EntryRequest, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    throw request.pinned?.error(error) ?? error;
  }
}

/** Serves a request of the management API. Reads begin again if a newer definition was published meanwhile. */
function serveManaged(c: Context<AppEnv>, managed: NonNullable<Operation["managed"]>): Promise<Response> {
  const [id, revision] = [c.req.param("entryId"), c.req.param("revision")];
  const renew = () => definition(c);
  const work = async (orb: LiveOrb | Promise<LiveOrb>) => {
    const request = await ManagedRequest.open(c, managed, Promise.resolve(orb), id);
    return inShape(request, () => managed.serve(request, { id, revision } as never));
  };
  return isRead(c) ? withNewest(c.var.deps, renew(), renew, work) : work(renew());
}

/** The routes of the management API. Its paths do not depend on the definition. */
export function managedRoutes() {
  const router = newRouter(asEntryFault);
  const rows: readonly Operation[] = Object.values(operations);
  for (const prefix of PREFIXES) {
    for (const { routeAt, serve } of managedOnly) router.openapi(routeAt(prefix), serve);
    for (const { managed } of rows)
      if (managed !== undefined) router.openapi(managed.routeAt(prefix), (c) => serveManaged(c, managed));
  }
  return router;
}

/** Mount these routes last, because they match all other URLs of an application. */
export function runtimeRoutes() {
  const router = newRouter();
  const described = [fileDefinitions, resumableDefinitions].flatMap((each) => Object.values(each));
  const onEntries = Object.values(operations).map(({ route }) => route);
  for (const definition of library.router.openAPIRegistry.definitions)
    if (definition.type === "route") router.openAPIRegistry.registerPath(definition.route);
  for (const definition of [callRoute, batchRoute, searchRoute, ...described, ...onEntries])
    router.openAPIRegistry.registerPath(definition);
  router.all("/api/:orbId/*", (c) => {
    const segments = segmentsOf(c);
    return segments.length === 0 ? c.notFound() : serve(c, segments);
  });
  return router;
}
