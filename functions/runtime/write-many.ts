/** Routes that change or delete all entries that match a list's filter. */
import { deleteEntry, requirePatch, updateEntry } from "../../shared/entry/index.ts";
import { listEntries, Reading } from "../../shared/entry/read/index.ts";
import { ofOneWrite } from "../../shared/quotas/guesses.ts";
import { changePage, selectionOf } from "../http/many.ts";
import { selectingFrom, writingTo } from "../http/within.ts";
import { completeResponse } from "../middleware/headers.ts";
import { listQueryOf } from "./list-input.ts";
import { bodies, parametersOf } from "./operations.ts";
import { choiceOf, type EntryRequest } from "./read.ts";
import { bodyOf, localeOf, renewal } from "./write.ts";

const PAGING = ["limit", "cursor"];

/** Returns where one of the entries is written. Each write needs its own view of a change set. */
function destination({ c, live, caller }: EntryRequest) {
  return writingTo(c.get("deps"), caller.actor, live, c.req.query());
}

/** Returns the newest revisions of the entries that match the filters, and the parameters of the change. */
async function pageOf(request: EntryRequest) {
  const { c, live, schema, caller, pinned } = request;
  const own = [...parametersOf(request.operation).keys()].filter((name) => !PAGING.includes(name));
  const selection = selectionOf(c, own, PAGING);
  const reading = Reading.of(caller, live, schema, true);
  const query = listQueryOf(request, reading, selection, []);
  const { deps, pages } = await selectingFrom(c.get("deps"), caller.actor, live, c.req.query());
  const choice = choiceOf(c, pinned?.pair?.old ?? schema, {});
  const page = await listEntries(deps, { reading, choice, query, pages });
  const target = { orbId: live.orb, orb: live, schema, renew: renewal(request) };
  return { page, target, dryRun: c.req.query("dryRun") === "true" };
}

function answer({ c }: EntryRequest, result: Awaited<ReturnType<typeof changePage>>): Response {
  return completeResponse(c, JSON.stringify(result), 200, {
    "content-type": "application/json",
    "cache-control": "no-store",
  });
}

export async function updateMany(request: EntryRequest): Promise<Response> {
  const { c } = request;
  const { publish, locale, market } = c.req.query();
  const change = await bodyOf(c, bodies.patchMany);
  requirePatch(change);
  const { page, target, dryRun } = await pageOf(request);
  const result = await changePage(page, dryRun, async (id) => {
    const to = await destination(request);
    // Writes at the same time each have faults with positions of their own.
    const pinned = request.pinned?.again();
    const written = await updateEntry(ofOneWrite(to.deps), to.actor, {
      ...change,
      ...target,
      shaping: pinned?.shaping,
      ...localeOf({
        ...(locale === undefined ? {} : { locale }),
        ...(market === undefined ? {} : { market }),
      }),
      id,
      into: to.into,
      dryRun,
      merge: true,
      skipsUnchanged: true,
      publish: publish === "true",
    }).catch((error: unknown) => {
      throw pinned?.error(error) ?? error;
    });
    return written.unchanged !== true;
  });
  return answer(request, result);
}

export async function removeMany(request: EntryRequest): Promise<Response> {
  const { c } = request;
  const { page, target, dryRun } = await pageOf(request);
  const force = c.req.query("force") === "true";
  const result = await changePage(page, dryRun, async (id) => {
    const to = await destination(request);
    await deleteEntry(to.deps, to.actor, { ...target, id, dryRun, force, into: to.into });
    return true;
  });
  return answer(request, result);
}
