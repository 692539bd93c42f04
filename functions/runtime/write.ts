/** Routes that write entries. They respond in the language that the caller prefers. */
import type { Context } from "hono";
import type { z } from "zod";
import type { Actor } from "../../shared/access/actor.ts";
import { principalIn, requireMay } from "../../shared/access/authorize.ts";
import type { EntryOperation } from "../../shared/access/credentials/operations.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/live.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  publishEntry,
  restoreEntry,
  revertEntry,
  revisionNumber,
  type Target,
  unpublishEntry,
  updateEntry,
  type Written,
} from "../../shared/entry/index.ts";
import { parseExtras } from "../../shared/entry/query/query.ts";
import { presentWritten } from "../../shared/entry/read/get.ts";
import { invalid, notFound } from "../../shared/kernel/errors.ts";
import { asEntryFault, changeOf } from "../admin/entry-schemas.ts";
import { ifMatch } from "../http/etag.ts";
import { idempotencyOf } from "../http/idempotency.ts";
import { faultsOf } from "../http/problem.ts";
import { readJson } from "../middleware/body.ts";
import { completeResponse } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";
import type { Operation } from "./address.ts";
import { bodies, definitions, parameterNames } from "./definitions.ts";
import { choiceOf, parametersOf, responseHeaders } from "./read.ts";

export interface Writing {
  c: Context<AppEnv>;
  live: LiveOrb;
  schema: CompiledSchema;
  actor: Actor;
}

export async function bodyOf<T extends z.ZodType>(c: Context<AppEnv>, schema: T): Promise<z.infer<T>> {
  const body = await readJson(c, true);
  const result = schema.safeParse(body);
  if (!result.success) throw invalid(faultsOf(result.error, body).map(asEntryFault));
  return result.data;
}

/** Rejects callers without write access before their request body is read. */
export function requireWriter({ live, schema, actor }: Writing, operation: EntryOperation): void {
  const principal = principalIn(actor, live.orb, live.compiled);
  requireMay(principal, operation, { access: schema.access, own: true });
}

/** Returns a function that reads the application's definition again before a retry. */
export function renewal({ c, live, schema }: Writing): () => Promise<LiveOrb> {
  return async () => {
    const now = await requireLive(c.get("deps"), live.orb);
    const module = now.compiled.modules.get(schema.module);
    if (module?.routed !== true || module.schemas.get(schema.id)?.subjectType !== schema.subjectType)
      throw notFound("schema");
    return now;
  };
}

/**
 * Returns the route within which an idempotency key is unique. The route stays the same if a request omits the
 * schema, or after the schema is renamed.
 */
function collectionRoute({ live, schema }: Writing): string {
  return `/api/${live.orb}/${schema.module}/${schema.home.schema}`;
}

/** @param operation last part of the route. Without it, the write ignores the header `Idempotency-Key`. */
function targetOf(writing: Writing, id: string, operation?: string): Target & { schema: CompiledSchema } {
  const { c, live, schema } = writing;
  const named = operation === undefined ? undefined : `${collectionRoute(writing)}/${id}/${operation}`;
  return {
    orbId: live.orb,
    orb: live,
    id,
    schema,
    renew: renewal(writing),
    ifMatch: ifMatch(c.req.header("if-match")),
    idempotency: named === undefined ? undefined : idempotencyOf(c, named),
  };
}

function answer(
  writing: Writing,
  written: Written,
  extra: { locale?: string; market?: string },
  status: 200 | 201,
): Response {
  const { c, live, schema, actor } = writing;
  const choice = choiceOf(c, schema, extra);
  const { entry, etag, languages } = presentWritten(actor, live, schema, written.snapshot, choice);
  const headers = responseHeaders({ schema, actor, choice, private: true, expanded: false, languages });
  headers["content-type"] = "application/json";
  headers["cache-control"] = "no-store";
  headers.etag = etag;
  if (written.replayed) headers["idempotent-replayed"] = "true";
  if (status === 201) headers.location = `${c.req.path}/${entry.id}`;
  return completeResponse(c, JSON.stringify(entry), status, headers);
}

const FLAGS = ["publish", "force"];

/** For each operation, the names of its flags and of its other query parameters. */
const EXTRAS = new Map(
  Object.entries(definitions).map(([operation, definition]) => {
    const { true: flags = [], false: others = [] } = Object.groupBy(parameterNames(definition), (name) =>
      FLAGS.includes(name) ? "true" : "false",
    );
    return [operation, { flags, others }];
  }),
);

function extrasOf(c: Context<AppEnv>, operation: keyof typeof definitions): Record<string, string> {
  if (!c.req.url.includes("?")) return {};
  const { others, flags } = EXTRAS.get(operation) ?? { others: [], flags: [] };
  return parseExtras(parametersOf(c), others, flags);
}

/**
 * Returns the language and market of the values in a request. If `locale` is `*` or missing, values are maps of all
 * languages.
 */
export function placeOf({ locale, market }: { locale?: string; market?: string }) {
  return { locale: locale === "*" ? undefined : locale, market };
}

export async function create(writing: Writing): Promise<Response> {
  const { c, live, schema, actor } = writing;
  requireWriter(writing, "create");
  const { publish, ...extra } = extrasOf(c, "create");
  const body = await bodyOf(c, bodies.create);
  const written = await createEntry(c.get("deps"), actor, {
    values: body.values,
    validFrom: body.validFrom,
    validTo: body.validTo,
    ...placeOf(extra),
    orbId: live.orb,
    orb: live,
    module: schema.module,
    schema: schema.id,
    publish: publish === "true",
    renew: renewal(writing),
    idempotency: idempotencyOf(c, collectionRoute(writing)),
  });
  return answer(writing, written, extra, 201);
}

/** @param operation tells whether the body contains all values, or only those to change */
export async function update(
  writing: Writing,
  id: string,
  operation: "update" | "patch" = "update",
): Promise<Response> {
  const { c, actor } = writing;
  requireWriter(writing, "update");
  const { publish, ...extra } = extrasOf(c, operation);
  const target = targetOf(writing, id);
  const body = await bodyOf(c, bodies[operation]);
  const written = await updateEntry(c.get("deps"), actor, {
    ...changeOf(body),
    ...placeOf(extra),
    ...target,
    merge: operation === "patch",
    publish: publish === "true",
  });
  return answer(writing, written, extra, 200);
}

export async function remove(writing: Writing, id: string): Promise<Response> {
  const { c, actor } = writing;
  requireWriter(writing, "delete");
  const { force } = extrasOf(c, "remove");
  await deleteEntry(c.get("deps"), actor, { ...targetOf(writing, id), force: force === "true" });
  return c.body(null, 204);
}

export async function operate(writing: Writing, id: string, operation: Operation): Promise<Response> {
  const { c, actor } = writing;
  requireWriter(writing, operation);
  const { force, ...extra } = extrasOf(c, operation);
  const target = targetOf(writing, id, operation);
  const { deps } = c.var;
  switch (operation) {
    case "publish":
      return answer(writing, await publishEntry(deps, actor, target), extra, 200);
    case "unpublish":
      return answer(writing, await unpublishEntry(deps, actor, target), extra, 200);
    case "restore":
      return answer(writing, await restoreEntry(deps, actor, target), extra, 200);
    default:
      return answer(
        writing,
        await archiveEntry(deps, actor, { ...target, force: force === "true" }),
        extra,
        200,
      );
  }
}

/** @param revision number of the revision, as written in the URL */
export async function revert(writing: Writing, id: string, revision: string): Promise<Response> {
  const { c, actor } = writing;
  requireWriter(writing, "update");
  const extra = extrasOf(c, "revert");
  const written = await revertEntry(c.get("deps"), actor, {
    ...targetOf(writing, id, `revisions/${revision}/restore`),
    revision: revisionNumber(revision),
  });
  return answer(writing, written, extra, 200);
}
