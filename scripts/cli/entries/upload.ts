/** Sends rows to the platform as a bulk upload, and reads the results. */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { isProblem, Problem } from "../../../shared/client/problem.ts";
import { backoff, isPassing, pause } from "../../../shared/client/transport.ts";
import { type Row, textOf } from "../../../shared/rows/row.ts";
import type { Context } from "../command/context.ts";
import type { Collection } from "./collection.ts";

/** A line in the response to an upload: the result for one entry or, in the last line, the totals. */
interface ResultLine {
  line?: number;
  status?: number;
  replayed?: boolean;
  act?: "created" | "updated" | "unchanged" | "skipped";
  code?: string;
  detail?: string;
  errors?: RowFaultAt[];
  warnings?: RowFaultAt[];
  done?: boolean;
  takenBack?: number;
}

/** A part of a row that the platform refuses. */
export interface RowFaultAt {
  /** JSON Pointer. */
  path: string;
  code?: string;
  message: string;
}

export interface Refused {
  /** Number of the row's first line in the file. */
  line: number;
  code: string;
  reason: string;
  /** The parts of the row that are refused, if it is not refused as a whole. */
  faults?: readonly RowFaultAt[];
}

export interface Uploaded {
  /** Entries that this upload has created. */
  created: number;
  /** Entries that this upload has changed. */
  updated: number;
  /** Entries that were as they are in the file already: with `match`, existing ones; otherwise, of an earlier upload. */
  stored: number;
  /** Entries of an interrupted upload that were deleted, because the rows have changed. */
  takenBack: number;
  refused: Refused[];
  /** Whether the platform refused rows before it wrote any. */
  nothing: boolean;
  /** Why the upload ended early. */
  stopped?: string;
}

export interface Upload {
  /** Where rows belong that do not name their module and schema. */
  collection: {
    orb: Pick<Collection["orb"], "id">;
    module: string;
    schema: Pick<Collection["schema"], "id">;
  };
  publish: boolean;
  /**
   * `check` writes nothing. `write` ends at the first row that is refused. `both` checks all rows first, which is for few
   * rows ({@link AT_ONCE}), and faster. `each` writes every row that is not refused.
   */
  mode: "check" | "write" | "both" | "each";
  /**
   * Finds the entry of each row by unique fields. Such an upload needs no keys, because a repeated row changes nothing.
   */
  match?: { fields: string; on: string } | undefined;
  /** Id of the change set into which the rows are written, instead of the entries. Such an upload cannot have the mode `both`. */
  change?: string | undefined;
  /** Identifies the import. */
  key: string;
  /** Yields all rows, each with its idempotency key. Called again after an interruption. */
  rows: () => AsyncIterable<{ row: Row; key: string }>;
  /** Called with the number of rows that are written, or in a check with the number that was sent. */
  onRow?: (count: number) => void;
  /** Called with each change that the platform made to a row, so that its texts fit their fields. */
  onWarning?: (line: number, warning: RowFaultAt) => void;
}

/** Maximum rows and characters of an upload in the mode `both`: half of what the platform takes. */
export const AT_ONCE = { rows: 10_000, characters: 2 * 1024 * 1024 };
/** Characters to send at a time. Small parts make uploads slow. */
const PART = 64 * 1024;
const OTHER_OPTIONS =
  "was stored by an earlier run with other options, such as --publish. Use the same options, or give the import another name with --run.";
const LATER_ROWS = "With --match, a row can also refer to a row after it.";
const MORE_RESULTS = {
  code: "answer_too_large",
  detail: "The server answered with more results than rows. Check the address.",
};
/** Maximum attempts without any progress. */
const ATTEMPTS = 6;

/** The result of one attempt. */
interface Attempt {
  created: number;
  updated: number;
  stored: number;
  takenBack: number;
  refused: Refused[];
  nothing: boolean;
  ended: boolean;
  reason?: string;
  passes: boolean;
  /** Why the platform could not check or write a row at the moment. */
  delayed?: string;
}

/**
 * Sends rows. After an interruption, sends all of them again. Each row has a key, so the platform writes it once.
 */
export async function uploadRows(context: Context, upload: Upload): Promise<Uploaded> {
  const total = { created: 0, updated: 0, takenBack: 0 };
  let most = 0;
  for (let failures = 0; ; ) {
    const attempt = await sendOnce(context, upload, most);
    // The rows that earlier attempts have written are stored now.
    const stored = Math.max(0, attempt.stored - total.created - total.updated);
    total.created += attempt.created;
    total.updated += attempt.updated;
    total.takenBack += attempt.takenBack;
    const done = doneIn(attempt);
    if (done > most) failures = 0;
    most = Math.max(most, done);
    const { refused, ended, passes, reason, nothing } = attempt;
    if (ended) {
      const takesBack = upload.match === undefined && upload.change === undefined;
      const isEnd = upload.mode !== "check" && refused.length === 0 && takesBack;
      if (isEnd) await endUpload(context, upload);
      return { ...total, stored, refused, nothing };
    }
    if (!passes || ++failures >= ATTEMPTS)
      return { ...total, stored, refused, nothing, stopped: reason ?? "The connection broke." };
    await pause(backoff(failures + 1), undefined);
  }
}

const doneIn = ({ created, updated, stored }: Attempt) => created + updated + stored;

const pathOf = ({ orb }: Upload["collection"]) =>
  `/api/admin/orbs/${encodeURIComponent(orb.id)}/entries/bulk`;

/** Tells the platform that all results were read. From then on, a changed row is a new row. */
async function endUpload({ transport }: Context, { collection, key }: Upload): Promise<void> {
  const response = await transport.send({
    method: "POST",
    path: pathOf(collection),
    query: new URLSearchParams({ end: "true" }),
    upload: { body: new Blob([]).stream(), type: "application/x-ndjson" },
    headers: { "idempotency-key": key },
    repeat: "refused",
  });
  await response.arrayBuffer();
}

async function sendOnce(context: Context, upload: Upload, most: number): Promise<Attempt> {
  const { collection, publish, mode, match, change } = upload;
  const lines: number[] = [];
  let faulty: { cause: unknown } | undefined;
  const body = async function* () {
    try {
      for await (const part of bodyOf(upload, lines)) {
        yield part;
        // A check has no results of the rows that it accepts.
        if (mode === "check") upload.onRow?.(lines.length);
      }
    } catch (cause) {
      faulty = { cause };
      throw cause;
    }
  };
  const attempt: Attempt = {
    ...{ created: 0, updated: 0, stored: 0, takenBack: 0, refused: [], nothing: false },
    ...{ ended: false, passes: true },
  };
  try {
    const response = await context.transport.send({
      method: "POST",
      path: pathOf(collection),
      query: new URLSearchParams({
        ...{ module: collection.module, schema: collection.schema.id },
        ...(publish ? { publish: "true" } : {}),
        ...(match === undefined ? {} : { match: match.fields, on: match.on }),
        ...(change === undefined ? (match === undefined ? { takeBack: "true" } : {}) : { change }),
        ...(mode === "check" ? { dryRun: "true" } : mode === "each" ? {} : { stopOnError: "true" }),
        ...(mode === "both" ? { checkFirst: "true" } : {}),
      }),
      upload: {
        body: Readable.toWeb(Readable.from(body())) as ReadableStream<Uint8Array>,
        type: "application/x-ndjson",
      },
      // The platform stores the keys of the rows together, under this key.
      headers: match === undefined ? { "idempotency-key": upload.key } : {},
      repeat: "refused",
    });
    const source = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]);
    let results = 0;
    for await (const text of createInterface({ input: source })) {
      // One result for each row that was sent, and the totals.
      if (++results > lines.length + 1) throw new Problem(502, MORE_RESULTS, null);
      const result = JSON.parse(text) as ResultLine;
      takeResult(attempt, result, lines, match === undefined);
      for (const warning of result.warnings ?? [])
        upload.onWarning?.(lines[(result.line ?? 1) - 1] ?? 0, warning);
      if (mode !== "check") upload.onRow?.(Math.max(most, doneIn(attempt)));
    }
  } catch (error) {
    if (faulty !== undefined) throw faulty.cause;
    if (isProblem(error, MORE_RESULTS.code) || (isProblem(error) && !isPassing(error.status))) throw error;
    attempt.reason = attempt.delayed ?? (error instanceof Error ? error.message : String(error));
  }
  if (faulty !== undefined) throw faulty.cause;
  return attempt;
}

async function* bodyOf(upload: Upload, lines: number[]): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let part = "";
  for await (const { row, key } of upload.rows()) {
    lines.push(row.line);
    part += `${textOf(row, upload.match === undefined ? { idempotencyKey: key } : {})}\n`;
    if (part.length < PART) continue;
    yield encoder.encode(part);
    part = "";
  }
  if (part !== "") yield encoder.encode(part);
}

/** @param inOrder whether rows can refer to earlier rows only */
function takeResult(attempt: Attempt, result: ResultLine, lines: readonly number[], inOrder: boolean): void {
  const { status = 0, code = "", detail = "" } = result;
  if (result.done !== undefined) {
    attempt.takenBack = result.takenBack ?? 0;
    const { delayed } = attempt;
    attempt.nothing = code === "lines_refused";
    attempt.ended = delayed === undefined && (result.done || code === "line_refused" || attempt.nothing);
    attempt.passes = delayed !== undefined || isPassing(status);
    if (!attempt.ended) attempt.reason = delayed ?? detail;
    return;
  }
  if (code !== "") {
    // A row that the platform could not check or write now is not refused. It is sent again.
    if (isPassing(status)) {
      attempt.delayed ??= detail;
      return;
    }
    const isOther = code === "idempotency_mismatch";
    const errors = result.errors ?? [];
    const faults = errors.map(({ path, message }) => `${path} ${message}`).join("; ");
    const isUnmatched = inOrder && errors.some((fault) => fault.code === "unmatched_reference");
    const reason = isOther ? OTHER_OPTIONS : faults === "" ? detail : faults;
    const line = lines[(result.line ?? 1) - 1] ?? 0;
    attempt.refused.push({
      ...{ line, code, reason: isUnmatched ? `${reason} ${LATER_ROWS}` : reason },
      ...(errors.length === 0 ? {} : { faults: errors }),
    });
    return;
  }
  if (result.act === "updated") attempt.updated++;
  else if (result.replayed === true || (result.act ?? "created") !== "created") attempt.stored++;
  else attempt.created++;
}
