/** Creates many entries from JSON Lines. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { proposing } from "../../shared/access/actor.ts";
import { definitionFor } from "../../shared/definition/stored/index.ts";
import {
  type BulkIntoInput,
  type BulkResult,
  bulkInto,
  bulkWrite,
  CHECKED,
  checkInto,
  MATCH_ACTS,
  type Matching,
} from "../../shared/entry/index.ts";
import { listManaged } from "../../shared/entry/read/index.ts";
import { AppError, invalidParameters, notFound } from "../../shared/kernel/errors.ts";
import { idempotencyOf, routeOf } from "../http/idempotency.ts";
import { STATUS } from "../http/problem.ts";
import { parseQuery } from "../http/router.ts";
import { FaultSchema } from "../http/schemas.ts";
import { definitionIn, IntoChange, puttingTo, writingTo } from "../http/within.ts";
import { discardBody, parseJson } from "../middleware/body.ts";
import { readLines } from "../middleware/lines.ts";
import { stillPlatformAdmin } from "../middleware/session.ts";
import { type AppEnv, holdConnection } from "../request/context.ts";
import { definition, keyPath, pinnedItems } from "./entry-schemas.ts";

const ACTS = ["created", "updated", "unchanged", "skipped"] as const;

const ResultSchema = z
  .object({
    line: z.int().openapi({ description: "Line number in the request, from 1" }),
    status: z.int().openapi({ description: "HTTP status of this line as if it were a separate request" }),
    id: z.string().optional(),
    revision: z.int().optional(),
    act: z.enum(ACTS).optional().openapi({
      description: "With `match`, what became of the entry. `skipped`: it exists, and stays as it is",
    }),
    replayed: z.literal(true).optional().openapi({
      description: "Set if an earlier request with the same idempotency key had written the entry",
    }),
    code: z.string().optional(),
    detail: z.string().optional(),
    errors: z.array(FaultSchema).optional(),
    warnings: z.array(FaultSchema).optional().openapi({
      description:
        "What the platform changed in texts to fit their fields, and references whose targets are gone",
    }),
  })
  .openapi("BulkResult");

const SummarySchema = z
  .object({
    done: z.boolean().openapi({ description: "Whether every line was processed" }),
    total: z.int(),
    created: z.int().openapi({ description: "Entries that are stored, by this request and by earlier ones" }),
    updated: z.int().optional().openapi({ description: "With `match`: entries that got a new revision" }),
    unchanged: z
      .int()
      .optional()
      .openapi({ description: "With `match`: entries that had these values already" }),
    skipped: z.int().optional().openapi({ description: "With `match`: entries that were left as they are" }),
    replayed: z.int().optional().openapi({
      description:
        "If there are any, those of `created` that earlier requests with the same idempotency keys had written",
    }),
    takenBack: z.int().optional().openapi({
      description: "If there are any, entries of an interrupted upload that were deleted (see `takeBack`)",
    }),
    failed: z.int(),
    status: z.int().optional().openapi({ description: "Why the upload ended early, as an HTTP status" }),
    code: z.string().optional(),
    detail: z.string().optional(),
  })
  .openapi("BulkSummary", { description: "The last line of the response" });

const CREATED = 201;
const OK = 200;

function wire(result: Exclude<BulkResult, { refers: true }>): z.infer<typeof ResultSchema> {
  const { line } = result;
  if ("skipped" in result) return { line, status: OK, id: result.skipped, act: "skipped" };
  if ("snapshot" in result) {
    const { id, revision } = result.snapshot;
    const { act, replayed, warnings = [] } = result;
    const status = act === undefined || act === "created" ? CREATED : OK;
    return {
      ...{ line, status, id, revision },
      ...(act === undefined ? {} : { act }),
      ...(replayed === true ? { replayed } : {}),
      ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
    };
  }
  const { kind, code, detail, errors } = result.error;
  return {
    line,
    status: STATUS[kind],
    code,
    detail,
    ...(errors === undefined ? {} : { errors }),
  };
}

/** Maximum number of fields by which lines are matched. */
const MOST_KEYS = 5;

/** The totals that only some responses have. */
const FurtherSchema = SummarySchema.pick({
  updated: true,
  unchanged: true,
  skipped: true,
  replayed: true,
  takenBack: true,
});

/** Returns the total that counts a result. A dry run counts no entry as created, because none is. */
function counterOf(result: BulkResult): "failed" | (typeof ACTS)[number] | undefined {
  if ("error" in result) return "failed";
  if ("skipped" in result) return "skipped";
  if ("refers" in result) return undefined;
  const act = result.act ?? "created";
  return act === "created" && result.dry === true ? undefined : act;
}

/** One line of a response. */
export const BulkLines = z.union([ResultSchema, SummarySchema]);

const flag = (description: string) => z.enum(["true", "false"]).optional().openapi({ description });

export const BulkQuery = z.strictObject({
  publish: flag("`true`: also publishes all entries"),
  dryRun: flag(
    "`true`: only checks the lines. The response contains the lines that would fail, then the totals.",
  ),
  stopOnError: flag(
    "`true`: stops at the first line that fails, and writes no line after it. The last line of the response has the code `line_refused`.",
  ),
  checkFirst: flag(
    `\`true\`: checks all lines before the first one is written, and writes none if one is refused (\`lines_refused\`). For up to ${CHECKED.lines.toLocaleString("en")} lines of ${CHECKED.characters / 1024 / 1024} MiB together.`,
  ),
  takeBack: flag(
    "`true`: if an upload with the same Idempotency-Key was interrupted, and this one does not repeat its lines, deletes the entries of those lines from the first one that differs. Each line needs an `idempotencyKey`. The upload counts as interrupted until a request with `end=true`.",
  ),
  end: flag(
    "`true`: ends an upload with `takeBack`. Send a request without lines after you have read all results.",
  ),
  module: z.string().optional().openapi({ description: "Module of lines that do not name one" }),
  schema: z
    .string()
    .optional()
    .openapi({ description: "Schema of lines that do not name one and have this module" }),
  match: z.string().optional().openapi({
    description:
      "Unique fields, separated by commas: a line with the value of an existing entry belongs to that entry. The first field that a line has a value of counts.",
    example: "sku",
  }),
  ...IntoChange,
  on: z.enum(MATCH_ACTS).optional().openapi({
    description:
      "What to do with lines that belong to an entry. `upsert` (default): change the values that the line names; create the other entries. `update`: refuse the other lines. `skip`: leave the entry as it is.",
  }),
});

/** Parameters that make a repeated upload safe. With `match`, a repeated upload changes nothing anyway. */
const WITHOUT_MATCH = ["takeBack", "end"] as const;

/** Parameters without meaning for lines that are written into a change set. */
const WITHOUT_CHANGE = ["publish", "checkFirst", "takeBack", "end"] as const;

/** Throws if an upload into a change set has parameters that it cannot have. */
function requireWithin({ change, ...query }: Omit<z.infer<typeof BulkQuery>, "match" | "on">): void {
  if (change === undefined) return;
  const refused = WITHOUT_CHANGE.filter((name) => query[name] !== undefined && query[name] !== "false");
  if (refused.length === 0) return;
  const message = "must not be used together with change";
  throw invalidParameters(refused.map((name) => ({ path: `/${name}`, code: "not_applicable", message })));
}

/** Returns the function that says where the lines of an upload into a change set are written. */
function destinationIn(c: Context<AppEnv>, change: string): BulkIntoInput["destination"] {
  const { deps } = c.var;
  return async (actor, orb, of) => {
    if (of === undefined) return writingTo(deps, actor, orb, { change });
    const { schema, key } = of;
    return puttingTo(deps, actor, orb, { change }, of, async ({ deps: within, pages }) => {
      const asked: [string, string][] = [
        ["module", schema.module],
        ["schema", schema.id],
        [`filter[${key.field.name}][eq]`, String(key.value)],
        ["limit", "1"],
      ];
      const { items } = await listManaged(within, actor, { orb, parameters: asked, pages });
      return items[0]?.id;
    });
  };
}

/** @throws AppError malformed if parameters cannot be combined */
function matchingOf(
  { match, on, ...others }: z.infer<typeof BulkQuery>,
  key: string | undefined,
): Matching | undefined {
  requireWithin(others);
  if (match === undefined) {
    if (on === undefined) return undefined;
    throw invalidParameters([
      { path: "/on", code: "needs_match", message: "must be sent together with match" },
    ]);
  }
  const refused = WITHOUT_MATCH.find((name) => others[name] !== undefined);
  if (refused !== undefined) {
    const message = "must not be sent together with match, because a repeated upload changes nothing then";
    throw invalidParameters([{ path: `/${refused}`, code: "needs_no_match", message }]);
  }
  if (key !== undefined)
    throw new AppError(
      "malformed",
      "invalid_header",
      "Idempotency-Key must not be sent together with match, because a repeated upload changes nothing then.",
    );
  const fields = [...new Set(match.split(","))];
  if (fields.some((name) => name === "") || fields.length > MOST_KEYS)
    throw invalidParameters([
      {
        path: "/match",
        code: "invalid_value",
        message: `must be 1 to ${MOST_KEYS} names separated by commas`,
      },
    ]);
  return { fields, on: on ?? "upsert" };
}

/** Starts an upload, into a change set if the request names one. */
async function resultsOf(
  c: Context<AppEnv>,
  change: string | undefined,
  input: Omit<BulkIntoInput, "destination">,
): Promise<AsyncGenerator<BulkResult>> {
  const { deps, actor } = c.var;
  if (change === undefined) return bulkWrite(deps, actor, input);
  // A set that is missing or closed refuses the upload, and not each of its lines.
  const to = await writingTo(deps, actor, input.orb, { change });
  const into = { ...input, destination: destinationIn(c, change) };
  if (input.dryRun === true) {
    const authority = async () => proposing((await input.authority?.()) ?? actor);
    return checkInto(to.deps, to.actor, { ...into, authority });
  }
  const renew = async () => {
    const live = await definitionFor(deps, input.orbId);
    if (live === null) throw notFound("orb");
    return definitionIn(deps, live, change);
  };
  return bulkInto(deps, actor, { ...into, renew });
}

/** Returns the results of an upload as JSON Lines, and then the totals. @param further totals that the last line has too */
function streamed(
  c: Context<AppEnv>,
  results: AsyncGenerator<BulkResult>,
  further: z.infer<typeof FurtherSchema>,
): ReadableStream<Uint8Array> {
  const { log } = c.var.deps;
  const release = holdConnection(c);
  const encoder = new TextEncoder();
  let stopped = false;
  return new ReadableStream<Uint8Array>({
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
            const name = counterOf(result);
            if (name === "created" || name === "failed") totals[name]++;
            else if (name !== undefined) further[name] = (further[name] ?? 0) + 1;
            if ("replayed" in result) further.replayed = (further.replayed ?? 0) + 1;
            if (!("dry" in result || "refers" in result)) tell(wire(result));
            if (stopped) break;
          }
          tell({ ...totals, ...further });
        } catch (error) {
          // Earlier lines are already written, so report the error in the last line, with `done: false`.
          const known = error instanceof AppError ? error : undefined;
          if (known === undefined) log.error("bulk stopped", { error: String(error) });
          tell({
            ...totals,
            ...further,
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
}

export async function createMany(c: Context<AppEnv>): Promise<Response> {
  const lines = readLines(c, { json: true });
  const query = parseQuery(BulkQuery, c.req.queries());
  const { publish, dryRun, stopOnError, checkFirst, takeBack, end, module, schema } = query;
  const match = matchingOf(query, c.req.header("idempotency-key"));
  const read = definition(c);
  const pinned = await pinnedItems(c, read);
  const orb = await read;
  const keys = keyPath(c, pinned);
  const further: z.infer<typeof FurtherSchema> =
    match === undefined ? {} : { updated: 0, unchanged: 0, skipped: 0 };
  const results = await resultsOf(c, query.change, {
    authority: () => stillPlatformAdmin(c, true),
    orbId: orb.orb,
    orb,
    lines,
    parse: parseJson,
    ...{ module, schema },
    publish: publish === "true",
    dryRun: dryRun === "true",
    stopOnError: stopOnError === "true",
    checkFirst: checkFirst === "true",
    takeBack: takeBack === "true",
    end: end === "true",
    onTakenBack: (count) => {
      further.takenBack = (further.takenBack ?? 0) + count;
    },
    idempotency: idempotencyOf(c, keys),
    route: routeOf(c, keys),
    match,
    pinned,
  });
  const body = streamed(c, results, further);
  return c.body(body, 200, { "content-type": "application/x-ndjson; charset=utf-8" });
}
