import { z } from "@hono/zod-openapi";
import type { EntryOperation } from "../../shared/access/credentials/index.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  publishEntry,
  restoreEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { idempotencyOf, isKeyedUpdate } from "../http/idempotency.ts";
import { type AdminPrefix, entryRoute } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import {
  IdempotencyKey,
  IfMatch,
  jsonRequest,
  Location,
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
  ForceQuery,
  LocalesQuery,
  MERGE_PATCH,
  NewEntryBody,
  targetOf,
  WriteQuery,
} from "./entry-schemas.ts";

export function entryWriteRoutes(prefix: AdminPrefix) {
  const common = (operation: EntryOperation) => entryRoute(prefix, operation);
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
      headers: IdempotencyKey,
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
    request: { params: EntryParams, query: DeleteQuery, headers: IfMatch },
    responses: { 204: { description: "Deleted" } },
    problems: [400, 401, 403, 404, 409, 412],
  });

  return newRouter(asEntryFault)
    .openapi(create, async (c) => {
      const { orbId } = c.req.valid("param");
      const query = c.req.valid("query");
      const { publish, locale, market } = query;
      const orb = definition(c, orbId);
      const to = await writingTo(c.var.deps, c.var.actor, orb, query);
      const written = await createEntry(to.deps, to.actor, {
        ...c.req.valid("json"),
        into: to.into,
        orbId,
        orb,
        publish: publish === "true",
        locale,
        market,
        idempotency: idempotencyOf(c),
      });
      const body = await answer(c, { orb }, written);
      c.header("location", `${prefix}/${orbId}/entries/${body.id}`);
      return c.json(body, 201);
    })
    .openapi(remove, async (c) => {
      const query = c.req.valid("query");
      const { force, purge } = query;
      const target = targetOf(c, c.req.valid("param"), c.req.valid("header"));
      const to = await writingTo(c.var.deps, c.var.actor, target.orb, query);
      await deleteEntry(to.deps, to.actor, {
        ...target,
        into: to.into,
        force: force === "true",
        purge: purge === "true",
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
      ...entryRoute(prefix, "update"),
      ...described,
      path: `${prefix}/{orbId}/entries/{entryId}` as const,
      request: {
        params: EntryParams,
        query: WriteQuery.extend(IntoChange),
        headers: WriteHeaders,
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
      const target = targetOf(c, c.req.valid("param"), headers);
      const to = await writingTo(c.var.deps, c.var.actor, target.orb, query);
      const written = await updateEntry(to.deps, to.actor, {
        ...changeOf(c.req.valid("json")),
        ...target,
        into: to.into,
        merge,
        publish: publish === "true",
        locale,
        market,
      });
      return c.json(await answer(c, target, written), 200);
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
      ...entryRoute(prefix, name),
      method: "post",
      path: `${one}/${name}`,
      operationId: `${name}Entry`,
      summary,
      request: {
        params: EntryParams,
        query: z.strictObject({ ...own, ...IntoChange }),
        headers: WriteHeaders,
      },
      responses: { 200: entryAnswer("The new revision", Replayed) },
      problems: [400, 401, 403, 404, 409, 410, 412, 422],
    });
    router.openapi(route, async (c) => {
      const target = targetOf(c, c.req.valid("param"), c.req.valid("header"));
      const query = c.req.query();
      const force = query.force === "true";
      const locales = localesOf(query.locales);
      const to = await writingTo(c.var.deps, c.var.actor, target.orb, query);
      const written = await verb(to.deps, to.actor, { ...target, force, locales, into: to.into });
      return c.json(await answer(c, target, written), 200);
    });
  }
  return router;
}
