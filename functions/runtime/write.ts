/** Routes that write entries. They respond in the language that the caller prefers. */
import type { Context } from "hono";
import type { z } from "zod";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/index.ts";
import {
  createEntry,
  deleteEntry,
  revertEntry,
  revisionNumber,
  type Target,
  updateEntry,
  type Written,
} from "../../shared/entry/index.ts";
import { richTextForm } from "../../shared/entry/model/index.ts";
import { parseExtras } from "../../shared/entry/query/index.ts";
import { presentWritten } from "../../shared/entry/read/index.ts";
import { invalid, notFound } from "../../shared/kernel/errors.ts";
import { localesOf, MOVES, type Move } from "../admin/entries.ts";
import { asEntryFault, changeOf, warningsOf } from "../admin/entry-schemas.ts";
import { ifMatch } from "../http/etag.ts";
import { idempotencyOf, isKeyedUpdate } from "../http/idempotency.ts";
import { faultsOf } from "../http/problem.ts";
import { definitionIn, writingTo } from "../http/within.ts";
import { readJson } from "../middleware/body.ts";
import { completeResponse } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";
import { bodies, parametersOf } from "./operations.ts";
import { choiceOf, type EntryRequest, responseHeaders, searchOf } from "./read.ts";

export async function bodyOf<T extends z.ZodType>(c: Context<AppEnv>, schema: T): Promise<z.infer<T>> {
  const body = await readJson(c, true);
  const result = schema.safeParse(body);
  if (!result.success) throw invalid(faultsOf(result.error, body).map(asEntryFault));
  return result.data;
}

/** Returns a function that reads the application's definition again before a retry. */
export function renewal({ c, live, schema }: EntryRequest): () => Promise<LiveOrb> {
  return async () => {
    const deps = c.get("deps");
    const now = await definitionIn(deps, await requireLive(deps, live.orb), c.req.query("change"));
    const module = now.compiled.modules.get(schema.module);
    if (module?.routed !== true || module.schemas.get(schema.id)?.subjectType !== schema.subjectType)
      throw notFound("schema");
    return now;
  };
}

/**
 * Returns the route within which an idempotency key is unique. The route stays the same if a request omits the
 * schema, or after the schema is renamed. Keys of requests in the shape of another revision are other ones.
 */
function collectionRoute({ live, schema, pinned }: EntryRequest): string {
  const shape = pinned === undefined ? "" : `@${pinned.revision}`;
  return `/api/${live.orb}/${schema.module}/${schema.home.schema}${shape}`;
}

/** The entry that a request names: by its id, or by a unique value that it must have. */
export type Named = Pick<Target, "id" | "key">;

/** @param operation what the write does, as a part of the route of its keys. Without it, the write ignores the header `Idempotency-Key`. */
function targetOf(
  request: EntryRequest,
  { id, key }: Named,
  operation?: string,
): Target & { schema: CompiledSchema } {
  const { c, live, schema } = request;
  const named = operation === undefined ? undefined : `${collectionRoute(request)}/${id}/${operation}`;
  return {
    orbId: live.orb,
    orb: live,
    id,
    key,
    schema,
    renew: renewal(request),
    ifMatch: ifMatch(c.req.header("if-match")),
    idempotency: named === undefined ? undefined : idempotencyOf(c, named),
  };
}

/** @param collection path of the collection, to which a new entry's id is added */
export async function answer(
  request: EntryRequest,
  written: Written,
  extra: { locale?: string; market?: string; richText?: string },
  status: 200 | 201,
  collection = request.c.req.path,
): Promise<Response> {
  const { c, live, caller, pinned } = request;
  const schema = pinned?.pair?.now ?? request.schema;
  const richText = await richTextForm(extra.richText);
  const choice = { ...choiceOf(c, pinned?.pair?.old ?? schema, extra), richText };
  const { entry, etag, languages } = presentWritten(caller, live, schema, written.snapshot, choice, pinned);
  const { actor } = caller;
  const facts = { schema, actor, choice, private: true, expanded: false, languages };
  const headers = responseHeaders({ ...facts, pinned: pinned !== undefined });
  headers["content-type"] = "application/json";
  headers["cache-control"] = "no-store";
  headers.etag = etag;
  if (written.replayed) headers["idempotent-replayed"] = "true";
  if (written.unchanged === true) headers["entry-unchanged"] = "true";
  if (status === 201) headers.location = `${collection}/${entry.id}`;
  const { warnings = [] } = written;
  const told = { warnings: pinned?.faults(warnings) ?? warnings };
  return completeResponse(
    c,
    JSON.stringify({ ...entry, ...warningsOf({ ...written, ...told }) }),
    status,
    headers,
  );
}

/** Returns the query parameters of a request. Throws if the operation does not take one of them. */
export function extrasOf({ c, operation }: EntryRequest): Record<string, string> {
  if (!c.req.url.includes("?")) return {};
  return parseExtras(searchOf(c), parametersOf(operation));
}

/**
 * Returns the language and market of the values in a request. If `locale` is `*` or missing, values are maps of all
 * languages.
 */
export function localeOf({ locale, market }: { locale?: string; market?: string }) {
  return { locale: locale === "*" ? undefined : locale, market };
}

export async function create(request: EntryRequest): Promise<Response> {
  const { c, live, schema, caller } = request;
  const { publish, change, ...extra } = extrasOf(request);
  const body = await bodyOf(c, bodies.create);
  const to = await writingTo(c.get("deps"), caller.actor, live, { change, publish });
  const written = await createEntry(to.deps, to.actor, {
    into: to.into,
    values: body.values,
    validFrom: body.validFrom,
    validTo: body.validTo,
    ...localeOf(extra),
    orbId: live.orb,
    orb: live,
    module: schema.module,
    schema: schema.id,
    publish: publish === "true",
    renew: renewal(request),
    shaping: request.pinned?.shaping,
    idempotency: idempotencyOf(c, collectionRoute(request)),
  });
  return answer(request, written, extra, 201);
}

/** Returns what a body changes. Its module and schema have the names of the live definition. */
export function changeIn({ pinned }: EntryRequest, body: Parameters<typeof changeOf>[0]) {
  const change = changeOf(body);
  const place = pinned?.place(change.place) ?? change.place;
  return { ...change, place, shaping: pinned?.shaping };
}

/** Replaces all values of an entry. For a PATCH, the body contains only those to change. */
export async function update(request: EntryRequest, named: Named): Promise<Response> {
  const { c, live, caller } = request;
  const { publish, change, ...extra } = extrasOf(request);
  const merge = c.req.method === "PATCH";
  const isKeyed = named.key === undefined && isKeyedUpdate(c);
  const target = targetOf(request, named, isKeyed ? c.req.method : undefined);
  const body = await bodyOf(c, merge ? bodies.patch : bodies.update);
  const to = await writingTo(c.get("deps"), caller.actor, live, { change, publish });
  const written = await updateEntry(to.deps, to.actor, {
    ...changeIn(request, body),
    ...localeOf(extra),
    ...target,
    into: to.into,
    merge,
    // A client that names an entry by a key may send the same data again and again.
    skipsUnchanged: named.key !== undefined,
    publish: publish === "true",
  });
  return answer(request, written, extra, 200);
}

export async function remove(request: EntryRequest, named: Named): Promise<Response> {
  const { c, live, caller } = request;
  const { force, change } = extrasOf(request);
  const to = await writingTo(c.get("deps"), caller.actor, live, { change, force });
  const target = { ...targetOf(request, named), force: force === "true", into: to.into };
  await deleteEntry(to.deps, to.actor, target);
  return c.body(null, 204);
}

export async function operate(
  request: EntryRequest,
  { id, operation }: { id: string; operation: Move },
): Promise<Response> {
  const { c, live, caller } = request;
  const { force, locales: named, change, ...extra } = extrasOf(request);
  const to = await writingTo(c.var.deps, caller.actor, live, { change, force });
  const target = { ...targetOf(request, { id }, operation), force: force === "true", into: to.into };
  const locales = localesOf(named);
  const written = await MOVES[operation].verb(to.deps, to.actor, { ...target, locales });
  return answer(request, written, extra, 200);
}

/** @param at.revision number of the revision, as written in the URL */
export async function revert(
  request: EntryRequest,
  { id, revision }: { id: string; revision: string },
): Promise<Response> {
  const extra = extrasOf(request);
  const written = await revertEntry(request.c.get("deps"), request.caller.actor, {
    ...targetOf(request, { id }, `revisions/${revision}/restore`),
    revision: revisionNumber(revision),
  });
  return answer(request, written, extra, 200);
}
