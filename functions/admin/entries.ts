import { z } from "@hono/zod-openapi";
import type { EntryOperation } from "../../shared/access/credentials/index.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  inLiveSchema,
  publishEntry,
  restoreEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { idempotencyOf, isKeyedUpdate } from "../http/idempotency.ts";
import { type AdminPrefix, shapedRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import {
  IdempotencyKey,
  IfMatch,
  jsonRequest,
  Location,
  OrbDefinition,
  OrbIdParam,
  Replayed,
  WriteHeaders,
} from "../http/schemas.ts";
import { IntoChange, writingTo } from "../http/within.ts";
import {
  answer,
  asEntryFault,
  changeOf,
  DeleteQuery,
  definition,
  EntryBody,
  EntryParams,
  EntryPatchBody,
  entryAnswer,
  entryCall,
  ForceQuery,
  inShape,
  keyPath,
  LocalesQuery,
  MERGE_PATCH,
  NewEntryBody,
  pinnedItems,
  WriteQuery,
} from "./entry-schemas.ts";

export function entryWriteRoutes(prefix: AdminPrefix) {
  const common = (operation: EntryOperation) => shapedRoute(prefix, operation);
  const collection = `${prefix}/{orbId}/entries` as const;
  const one = `${collection}/{entryId}` as const;

  const create = defineRoute({
    ...common("create"),
    method: "post",
    path: collection,
    operationId: "createEntry",
    summary: "Create an entry",
    request: {
      params: OrbIdParam,
      query: WriteQuery.extend(IntoChange),
      headers: IdempotencyKey.extend(OrbDefinition.shape),
      body: jsonRequest(NewEntryBody),
    },
    responses: { 201: entryAnswer("Created", { ...Location, ...Replayed }) },
    problems: [401, 403, 404, 409, 410],
  });
  const remove = defineRoute({
    ...common("delete"),
    method: "delete",
    path: one,
    operationId: "deleteEntry",
    summary: "Delete an entry",
    description: "Its revisions stay readable. `purge=true` erases them, even after the deletion.",
    request: { params: EntryParams, query: DeleteQuery, headers: IfMatch.extend(OrbDefinition.shape) },
    responses: { 204: { description: "Deleted" } },
    problems: [400, 401, 403, 404, 409, 412],
  });

  return newRouter(asEntryFault)
    .openapi(create, async (c) => {
      const { orbId } = c.req.valid("param");
      const query = c.req.valid("query");
      const { publish, locale, market } = query;
      const orb = definition(c, orbId);
      const items = await pinnedItems(c, orb);
      const sent = { ...c.req.valid("json"), publish: publish === "true", locale, market };
      const { entry, pinned } = items === undefined ? { entry: sent } : inLiveSchema(items, await orb, sent);
      const body = await inShape(pinned, async () => {
        const to = await writingTo(c.var.deps, c.var.actor, orb, query);
        const idempotency = idempotencyOf(c, keyPath(c, items));
        const written = await createEntry(to.deps, to.actor, {
          ...entry,
          ...{ into: to.into, orbId, orb, idempotency },
        });
        return answer(c, { orb, pinned }, written);
      });
      c.header("location", `${prefix}/${orbId}/entries/${body.id}`);
      return c.json(body, 201);
    })
    .openapi(remove, async (c) => {
      const query = c.req.valid("query");
      const { force, purge } = query;
      const { target, pinned } = await entryCall(c, c.req.valid("param"), c.req.valid("header"));
      await inShape(pinned, async () => {
        const to = await writingTo(c.var.deps, c.var.actor, target.orb, query);
        await deleteEntry(to.deps, to.actor, {
          ...target,
          into: to.into,
          force: force === "true",
          purge: purge === "true",
        });
      });
      return c.body(null, 204);
    });
}

const CHANGES = [
  {
    method: "put",
    operationId: "updateEntry",
    summary: "Update an entry",
    description:
      "Writes a new revision. The live revision does not change until the entry is published, here with `publish=true` or later. The body can be an edited response of `GET`.",
    body: EntryBody,
    merge: false,
  },
  {
    method: "patch",
    operationId: "patchEntry",
    summary: "Change some values of an entry",
    description: MERGE_PATCH,
    body: EntryPatchBody,
    merge: true,
  },
] as const;

export function entryChangeRoutes(prefix: AdminPrefix) {
  const router = newRouter(asEntryFault);
  for (const { body, merge, ...described } of CHANGES) {
    const route = defineRoute({
      ...shapedRoute(prefix, "update"),
      ...described,
      path: `${prefix}/{orbId}/entries/{entryId}` as const,
      request: {
        params: EntryParams,
        query: WriteQuery.extend(IntoChange),
        headers: WriteHeaders.extend(OrbDefinition.shape),
        body: jsonRequest(body),
      },
      responses: { 200: entryAnswer("The new revision", Replayed) },
      problems: [401, 403, 404, 409, 410, 412],
    });
    router.openapi(route, async (c) => {
      const query = c.req.valid("query");
      const { publish, locale, market } = query;
      const sent = c.req.valid("header");
      const headers = isKeyedUpdate(c) ? sent : { "if-match": sent["if-match"] };
      const call = await entryCall(c, c.req.valid("param"), headers);
      const { target, pinned } = call;
      const change = changeOf(c.req.valid("json"));
      const answered = await inShape(pinned, async () => {
        const to = await writingTo(c.var.deps, c.var.actor, target.orb, query);
        const written = await updateEntry(to.deps, to.actor, {
          ...change,
          ...target,
          place: pinned?.place(change.place) ?? change.place,
          shaping: pinned?.shaping,
          into: to.into,
          merge,
          publish: publish === "true",
          locale,
          market,
        });
        return answer(c, call, written);
      });
      return c.json(answered, 200);
    });
  }
  return router;
}

/** The operations that change the status of an entry. Both families of routes for entries have them. */
export const MOVES = {
  publish: { verb: publishEntry, query: LocalesQuery.shape, summary: "Publish the newest draft of an entry" },
  unpublish: { verb: unpublishEntry, query: {}, summary: "Unpublish an entry" },
  restore: { verb: restoreEntry, query: {}, summary: "Restore an archived entry as unpublished" },
  archive: { verb: archiveEntry, query: ForceQuery.shape, summary: "Archive an entry" },
} as const;
export type Move = keyof typeof MOVES;

/** Returns the languages of the query parameter `locales`. */
export const localesOf = (locales: string | undefined): string[] | undefined => locales?.split(",");

export const isMove = (name: string): name is Move => Object.hasOwn(MOVES, name);

export function entryMoveRoutes(prefix: AdminPrefix) {
  const one = `${prefix}/{orbId}/entries/{entryId}` as const;
  const router = newRouter();
  for (const name of Object.keys(MOVES) as Move[]) {
    const { verb, query: own, summary } = MOVES[name];
    const route = defineRoute({
      ...shapedRoute(prefix, name),
      method: "post",
      path: `${one}/${name}`,
      operationId: `${name}Entry`,
      summary,
      request: {
        params: EntryParams,
        query: z.strictObject({ ...own, ...IntoChange }),
        headers: WriteHeaders.extend(OrbDefinition.shape),
      },
      responses: { 200: entryAnswer("The new revision", Replayed) },
      problems: [400, 401, 403, 404, 409, 410, 412, 422],
    });
    router.openapi(route, async (c) => {
      const call = await entryCall(c, c.req.valid("param"), c.req.valid("header"));
      const { target, pinned } = call;
      const query = c.req.query();
      const force = query.force === "true";
      const locales = localesOf(query.locales);
      const answered = await inShape(pinned, async () => {
        const to = await writingTo(c.var.deps, c.var.actor, target.orb, query);
        const written = await verb(to.deps, to.actor, { ...target, force, locales, into: to.into });
        return answer(c, call, written);
      });
      return c.json(answered, 200);
    });
  }
  return router;
}
