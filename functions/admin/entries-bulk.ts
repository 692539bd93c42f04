/** Creates many entries from JSON Lines. Changes or deletes all entries that match a list's filter. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { STATUSES } from "../../shared/definition/document/lifecycle.ts";
import {
  type BulkResult,
  bulkWrite,
  deleteEntry,
  requirePatch,
  updateEntry,
} from "../../shared/entry/index.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { idempotencyOf } from "../http/idempotency.ts";
import { changePage, MANY, ManyQuery, ManySchema, selectionOf } from "../http/many.ts";
import { type AdminPrefix, entryRoute } from "../http/prefixes.ts";
import { STATUS } from "../http/problem.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import {
  Cursor,
  FaultSchema,
  IdempotencyKey,
  json,
  jsonRequest,
  Limit,
  OrbIdParam,
} from "../http/schemas.ts";
import { discardBody, parseJson } from "../middleware/body.ts";
import { readLines } from "../middleware/lines.ts";
import { stillPlatformAdmin } from "../middleware/session.ts";
import { type AppEnv, holdConnection } from "../request/context.ts";
import {
  asEntryFault,
  definition,
  ForceQuery,
  MERGE_PATCH,
  PatchManyBody,
  WriteQuery,
} from "./entry-schemas.ts";

const ResultSchema = z
  .object({
    line: z.int().openapi({ description: "Line number in the request, from 1" }),
    status: z.int().openapi({ description: "HTTP status of this line as if it were a separate request" }),
    id: z.string().optional(),
    revision: z.int().optional(),
    code: z.string().optional(),
    detail: z.string().optional(),
    errors: z.array(FaultSchema).optional(),
  })
  .openapi("BulkResult");

const SummarySchema = z
  .object({
    done: z.boolean().openapi({ description: "Whether every line was processed" }),
    total: z.int(),
    created: z.int(),
    failed: z.int(),
  })
  .openapi("BulkSummary", { description: "The last line of the response" });

const CREATED = 201;

function wire(result: BulkResult): z.infer<typeof ResultSchema> {
  if ("snapshot" in result) {
    const { id, revision } = result.snapshot;
    return { line: result.line, status: CREATED, id, revision };
  }
  const { kind, code, detail, errors } = result.error;
  return {
    line: result.line,
    status: STATUS[kind],
    code,
    detail,
    ...(errors === undefined ? {} : { errors }),
  };
}

const MANY_TAG = { tags: ["Entries: many at once"] };

const Selection = z.looseObject({
  module: z.string().optional().openapi({ description: "Only entries of this module" }),
  schema: z
    .string()
    .optional()
    .openapi({ description: "Only entries of this schema. Required to filter by its fields." }),
  status: z
    .string()
    .optional()
    .openapi({ enum: [...STATUSES] }),
  limit: Limit,
  cursor: Cursor,
  ...ManyQuery,
});

/** Routes that change or delete all entries that match a list's filter. */
export function entryManyRoutes(prefix: AdminPrefix) {
  const path = `${prefix}/{orbId}/entries` as const;
  const answer = { 200: json("Results for the entries of this page", ManySchema) };
  const problems = [400, 401, 403, 404, 422] as const;
  const patch = defineRoute({
    ...entryRoute(prefix, "update"),
    ...MANY_TAG,
    method: "patch",
    path,
    operationId: "patchEntries",
    summary: "Change some values of many entries",
    description: `${MERGE_PATCH} ${MANY}`,
    request: {
      params: OrbIdParam,
      query: Selection.extend(WriteQuery.shape),
      body: jsonRequest(PatchManyBody),
    },
    responses: answer,
    problems: [...problems],
  });
  const remove = defineRoute({
    ...entryRoute(prefix, "delete"),
    ...MANY_TAG,
    method: "delete",
    path,
    operationId: "deleteEntries",
    summary: "Delete many entries",
    description: MANY,
    request: { params: OrbIdParam, query: Selection.extend(ForceQuery.shape) },
    responses: answer,
    problems: [...problems],
  });
  const found = async (c: Context<AppEnv>, orbId: string, own: readonly string[]) => {
    const parameters = [...selectionOf(c, own, ["module", "schema", "status", "limit", "cursor"])];
    const orb = await definition(c, orbId);
    const page = await listManaged(c.get("deps"), c.get("actor"), { orb, parameters });
    return { orb, page, dryRun: c.req.query("dryRun") === "true" };
  };
  const ownOf = (shape: object) => [...Object.keys(ManyQuery), ...Object.keys(shape)];

  return newRouter(asEntryFault)
    .openapi(patch, async (c) => {
      const { orbId } = c.req.valid("param");
      const { publish, locale, market } = c.req.valid("query");
      const change = c.req.valid("json");
      requirePatch(change);
      const { orb, page, dryRun } = await found(c, orbId, ownOf(WriteQuery.shape));
      const result = await changePage(page, dryRun, async (id) => {
        const written = await updateEntry(c.var.deps, c.var.actor, {
          ...change,
          ...{ orbId, orb, id, dryRun, locale, market },
          merge: true,
          skipsUnchanged: true,
          publish: publish === "true",
        });
        return written.unchanged !== true;
      });
      return c.json(result, 200);
    })
    .openapi(remove, async (c) => {
      const { orbId } = c.req.valid("param");
      const { orb, page, dryRun } = await found(c, orbId, ownOf(ForceQuery.shape));
      const force = c.req.valid("query").force === "true";
      const result = await changePage(page, dryRun, async (id) => {
        await deleteEntry(c.var.deps, c.var.actor, { orbId, orb, id, dryRun, force });
        return true;
      });
      return c.json(result, 200);
    });
}

export function entryBulkRoutes(prefix: AdminPrefix) {
  const route = defineRoute({
    ...entryRoute(prefix, "create"),
    ...MANY_TAG,
    method: "post",
    path: `${prefix}/{orbId}/entries/bulk` as const,
    operationId: "createEntries",
    summary: "Create many entries",
    description:
      "Send JSON Lines. Each line is a body of `POST …/entries` and may also contain `publish`, `locale` and `market`. The response is JSON Lines too: one result per line, in order, as soon as it is written, then a last line with the totals. Lines are independent: a failed line does not affect the others. Your access is checked again for every group of lines. If it ends, the upload stops and the last line reports status 401. With an Idempotency-Key, a repeated request writes no line twice.",
    request: {
      params: OrbIdParam,
      query: z.strictObject({
        publish: z
          .enum(["true", "false"])
          .optional()
          .openapi({ description: "`true`: also publishes all entries" }),
      }),
      headers: IdempotencyKey,
      body: { required: true, content: { "application/x-ndjson": { schema: z.string() } } },
    },
    responses: {
      200: {
        description: "One result per line, then the totals: `{ done, total, created, failed }`",
        content: { "application/x-ndjson": { schema: z.union([ResultSchema, SummarySchema]) } },
      },
    },
    problems: [400, 401, 403, 404, 413, 415],
  });

  return newRouter().openapi(route, async (c) => {
    const lines = readLines(c, { json: true });
    const { orbId } = c.req.valid("param");
    const orb = await definition(c, orbId);
    const results = bulkWrite(c.var.deps, c.var.actor, {
      authority: () => stillPlatformAdmin(c),
      orbId,
      orb,
      lines,
      parse: parseJson,
      publish: c.req.valid("query").publish === "true",
      idempotency: idempotencyOf(c),
    });
    const { log } = c.var.deps;
    const release = holdConnection(c);
    const encoder = new TextEncoder();
    let stopped = false;
    const body = new ReadableStream<Uint8Array>({
      // Do not wait until the client reads the results. Some clients send the whole body before they read any, and both
      // sides would wait for each other.
      start(controller) {
        const tell = (line: unknown) => {
          if (!stopped) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
        };
        const run = async () => {
          const totals = { done: true, total: 0, created: 0, failed: 0 };
          try {
            for await (const result of results) {
              totals.total++;
              if ("snapshot" in result) totals.created++;
              else totals.failed++;
              tell(wire(result));
              if (stopped) break;
            }
            tell(totals);
          } catch (error) {
            // Earlier lines are already written, so report the error in the last line, with `done: false`.
            const known = error instanceof AppError ? error : undefined;
            if (known === undefined) log.error("bulk stopped", { error: String(error) });
            tell({
              ...totals,
              done: false,
              status: known === undefined ? STATUS.internal : STATUS[known.kind],
              code: known?.code ?? "internal_error",
              detail: known?.detail ?? "Internal error. Try again; if it persists, report the X-Request-Id.",
            });
          } finally {
            release();
            await discardBody(c.req.raw);
            if (!stopped) controller.close();
          }
        };
        void run();
      },
      cancel() {
        stopped = true;
      },
    });
    return c.body(body, 200, { "content-type": "application/x-ndjson; charset=utf-8" }) as never;
  });
}
