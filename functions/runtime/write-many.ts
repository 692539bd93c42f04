/** Routes that change or delete all entries that match a list's filter. */
import { principalIn } from "../../shared/access/authorize.ts";
import { deleteEntry, requirePatch, updateEntry } from "../../shared/entry/index.ts";
import { comparableBy, comparableTargets, readableBy } from "../../shared/entry/model/fields.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { requireReader } from "../../shared/entry/read/get.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { changePage, selectionOf } from "../http/many.ts";
import { completeResponse } from "../middleware/headers.ts";
import { bodies, definitions, parameterNames } from "./definitions.ts";
import { choiceOf } from "./read.ts";
import { bodyOf, placeOf, renewal, requireWriter, type Writing } from "./write.ts";

const PAGING = ["limit", "cursor"];

/** Returns the newest revisions of the entries that match the filters, and the parameters of the change. */
async function pageOf(writing: Writing, operation: "patchMany" | "removeMany") {
  const { c, live, schema, actor } = writing;
  const own = parameterNames(definitions[operation]).filter((name) => !PAGING.includes(name));
  const selection = selectionOf(c, own, PAGING);
  requireReader(actor, live, schema, true);
  const caller = principalIn(actor, live.orb, live.compiled);
  const query = parseListQuery(
    selection,
    readableBy(schema, caller, true),
    [],
    comparableBy(schema, caller),
    comparableTargets(live.compiled, caller),
  );
  const page = await listEntries(c.get("deps"), actor, {
    orb: live,
    schema,
    choice: choiceOf(c, schema, {}),
    query,
    latest: true,
  });
  const target = { orbId: live.orb, orb: live, schema, renew: renewal(writing) };
  return { page, target, dryRun: c.req.query("dryRun") === "true" };
}

function answer({ c }: Writing, result: Awaited<ReturnType<typeof changePage>>): Response {
  return completeResponse(c, JSON.stringify(result), 200, {
    "content-type": "application/json",
    "cache-control": "no-store",
  });
}

export async function updateMany(writing: Writing): Promise<Response> {
  const { c, actor } = writing;
  requireWriter(writing, "update");
  const { publish, locale, market } = c.req.query();
  const change = await bodyOf(c, bodies.patchMany);
  requirePatch(change);
  const { page, target, dryRun } = await pageOf(writing, "patchMany");
  const result = await changePage(page, dryRun, async (id) => {
    const written = await updateEntry(c.get("deps"), actor, {
      ...change,
      ...target,
      ...placeOf({
        ...(locale === undefined ? {} : { locale }),
        ...(market === undefined ? {} : { market }),
      }),
      id,
      dryRun,
      merge: true,
      skipsUnchanged: true,
      publish: publish === "true",
    });
    return written.unchanged !== true;
  });
  return answer(writing, result);
}

export async function removeMany(writing: Writing): Promise<Response> {
  const { c, actor } = writing;
  requireWriter(writing, "delete");
  const { page, target, dryRun } = await pageOf(writing, "removeMany");
  const force = c.req.query("force") === "true";
  const result = await changePage(page, dryRun, async (id) => {
    await deleteEntry(c.get("deps"), actor, { ...target, id, dryRun, force });
    return true;
  });
  return answer(writing, result);
}
