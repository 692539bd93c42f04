/**
 * The routes of forms in which people edit entries: `/api/{orbId}/editing` and its twins of the management API. They keep
 * unsaved changes, and tell who edits an entry.
 */
import type { RouteConfig } from "@hono/zod-openapi";
import type { Context } from "hono";
import { requireAccount, requireScope } from "../../shared/access/authorize.ts";
import type { EditingOperation } from "../../shared/access/credentials/index.ts";
import {
  attend,
  discardUnsaved,
  keepUnsaved,
  leave,
  listUnsaved,
  PRESENCE_LIMITS,
  readUnsaved,
  type UnsavedIn,
} from "../../shared/editing/index.ts";
import type { OrbContext } from "../../shared/entry/model/index.ts";
import { EDITING_SEGMENT, hidesEditing } from "../../shared/orb/routes.ts";
import { definition } from "../admin/entry-schemas.ts";
import { ifMatch, revisionTag } from "../http/etag.ts";
import { orbFamily } from "../http/orb-family.ts";
import { entryRoute, PREFIXES, scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter, type Router } from "../http/router.ts";
import { ANY_SESSION, IfMatch, json, jsonRequest } from "../http/schemas.ts";
import { definitionIn, readingFrom } from "../http/within.ts";
import type { AppEnv } from "../request/context.ts";
import {
  EntryParams,
  FormParams,
  InChange,
  InSet,
  KEPT,
  OfEntry,
  PresenceInput,
  PresenceView,
  SchemaParams,
  SHOWN,
  UnsavedInput,
  UnsavedList,
  UnsavedTag,
  UnsavedView,
} from "./schemas.ts";

/** One of the places where the routes are: the API of an application, or the management API. */
interface Place {
  /** Path before the application's id. */
  prefix: "/api" | (typeof PREFIXES)[number];
  /** Suffix that makes operation ids unique. */
  suffix: "" | "Of";
  /** Properties of every route. */
  common: (operation: EditingOperation) => Pick<RouteConfig, "tags" | "security" | "middleware" | "hide">;
  /** Returns the definition with which a request reads and writes. */
  orbOf: (c: Context<AppEnv>) => Promise<OrbContext>;
  router: Router;
}

const PROBLEMS = [401, 403, 404] as const;

interface Params {
  module: string;
  schema: string;
  entryId: string;
}

/** Returns the form that a request is about. */
async function formOf(
  { orbOf }: Place,
  c: Context<AppEnv>,
  { module, schema, entryId: id }: Params,
): Promise<UnsavedIn> {
  const orb = await orbOf(c);
  const { deps, actor } = c.var;
  const change = c.req.query("change");
  const within = async () => (await readingFrom(deps, actor, orb, { change }, true)).deps;
  return { orb, module, schema, id, change, within };
}

/** Returns the version that a write expects: 0 for none, undefined for any. */
function expected(header: string | undefined): number | undefined {
  return header === undefined ? 0 : ifMatch(header);
}

function addUnsaved(place: Place): void {
  const { prefix, suffix, common, router } = place;
  const all = `${prefix}/{orbId}/${EDITING_SEGMENT}/{module}/{schema}` as const;
  const path = `${all}/{entryId}/unsaved` as const;
  const shared = common("editing.keep");
  const list = defineRoute({
    ...shared,
    method: "get",
    path: all,
    operationId: `listUnsaved${suffix}`,
    summary: "List the caller's unsaved changes of the entries of a schema, and of new ones",
    description: KEPT,
    request: { params: SchemaParams, query: OfEntry },
    responses: { 200: json("All of them", UnsavedList) },
    problems: PROBLEMS,
  });
  const keep = defineRoute({
    ...shared,
    method: "put",
    path,
    operationId: `keepUnsaved${suffix}`,
    summary: "Keep unsaved changes of an entry",
    description: `Without \`If-Match\`, there must be none yet. With it, they must have this version; \`*\` replaces any. Otherwise 412 \`unsaved_mismatch\`. ${KEPT}`,
    request: { params: FormParams, query: InSet, headers: IfMatch, body: jsonRequest(UnsavedInput) },
    responses: { 200: json("The unsaved changes as they are kept", UnsavedView, UnsavedTag) },
    problems: [...PROBLEMS, 409, 410, 412, 429],
  });
  const discard = defineRoute({
    ...shared,
    method: "delete",
    path,
    operationId: `discardUnsaved${suffix}`,
    summary: "Erase the caller's unsaved changes of an entry",
    description: "Does nothing if there are none.",
    request: { params: FormParams, query: InSet, headers: IfMatch },
    responses: { 204: { description: "Erased" } },
    problems: [...PROBLEMS, 412],
  });
  router.openapi(list, async (c) => {
    const { entry = "" } = c.req.valid("query");
    const of = await formOf(place, c, { ...c.req.valid("param"), entryId: entry });
    if (entry === "") return c.json({ items: await listUnsaved(c.var.deps, c.var.actor, of) }, 200);
    const found = await readUnsaved(c.var.deps, c.var.actor, of);
    return c.json({ items: found === null ? [] : [found] }, 200);
  });
  router.openapi(keep, async (c) => {
    const of = await formOf(place, c, c.req.valid("param"));
    const expect = expected(c.req.valid("header")["if-match"]);
    const changed = c.req.valid("json");
    const stored = await keepUnsaved(c.var.deps, c.var.actor, { ...of, changed, expect });
    c.header("etag", revisionTag(stored.version));
    return c.json(stored, 200);
  });
  router.openapi(discard, async (c) => {
    const of = await formOf(place, c, c.req.valid("param"));
    const expect = ifMatch(c.req.valid("header")["if-match"]);
    await discardUnsaved(c.var.deps, c.var.actor, { ...of, expect });
    return c.body(null, 204);
  });
}

function addPresence(place: Place): void {
  const { prefix, suffix, common, router } = place;
  const path = `${prefix}/{orbId}/${EDITING_SEGMENT}/{module}/{schema}/{entryId}/presence` as const;
  const shared = common("editing.attend");
  const stay = defineRoute({
    ...shared,
    method: "put",
    path,
    operationId: `attendEntry${suffix}`,
    summary: "Tell the other editors of an entry that you edit it, and get those editors",
    description: SHOWN,
    request: { params: EntryParams, query: InChange, body: jsonRequest(PresenceInput) },
    responses: { 200: json("The other people who edit the entry", PresenceView) },
    problems: [...PROBLEMS, 410, 429],
  });
  const go = defineRoute({
    ...shared,
    method: "delete",
    path,
    operationId: `leaveEntry${suffix}`,
    summary: "Tell the other editors of an entry that you have closed it",
    request: { params: EntryParams, query: InChange },
    responses: { 204: { description: "Told" } },
    problems: PROBLEMS,
  });
  router.openapi(stay, async (c) => {
    const of = await formOf(place, c, c.req.valid("param"));
    const { field = null } = c.req.valid("json");
    const items = await attend(c.var.deps, c.var.actor, { ...of, field });
    return c.json({ items, every: PRESENCE_LIMITS.every }, 200);
  });
  router.openapi(go, async (c) => {
    await leave(c.var.deps, c.var.actor, await formOf(place, c, c.req.valid("param")));
    return c.body(null, 204);
  });
}

function addRoutes(place: Place): void {
  addUnsaved(place);
  addPresence(place);
}

/** The routes of the management API. */
export function adminEditingRoutes() {
  const router = newRouter();
  for (const prefix of PREFIXES)
    addRoutes({
      ...{ prefix, suffix: "", router },
      common: (operation) => ({ ...entryRoute(prefix, operation), tags: ["Forms"] }),
      orbOf: (c) => definition(c),
    });
  return router;
}

/** The routes of published applications. */
export function orbEditing() {
  const { router, handedTo, answer } = orbFamily(hidesEditing);
  addRoutes({
    ...{ prefix: "/api", suffix: "Of", router },
    common: (operation) => ({
      tags: ["forms"],
      security: ANY_SESSION,
      "x-role": "user",
      ...scopesFor(operation),
      middleware: [
        async (c: Context<AppEnv>, next) => {
          requireAccount(c.var.actor);
          requireScope(c.var.actor, operation, handedTo(c).orb);
          await next();
        },
      ],
    }),
    orbOf: (c) => definitionIn(c.var.deps, handedTo(c), c.req.query("change"), async () => c.var.actor),
  });
  return { router, answer };
}
