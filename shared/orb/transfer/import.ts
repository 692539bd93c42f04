/**
 * Creates an application from an export. The application stays invisible until all entries are written. If the import
 * fails, what it wrote is erased. After a crash, the next start of the platform or a DELETE request does so.
 */
import type { Actor } from "../../access/actor.ts";
import { requireOperator } from "../../access/authorize.ts";
import { compileOrb } from "../../definition/compile.ts";
import type { OrbDocument } from "../../definition/document/index.ts";
import {
  definitionFor,
  type ExistingOrb,
  type OrbHead,
  startHeartbeat,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { completeLive } from "../../entry/listed/index.ts";
import { compactSchemas } from "../../entry/ordered/index.ts";
import { importFile } from "../../files/transfer.ts";
import type { HandlerDeps } from "../../handlers/contract/index.ts";
import { AppError, invalid } from "../../kernel/errors.ts";
import { Conflict } from "../../store/types.ts";
import { type OrbTarget, readOrb } from "../change.ts";
import { beginImport, finishImport } from "../create.ts";
import { requireHandlers } from "../handlers.ts";
import { archiveOrb, eraseOrb, publishOrb, restoreOrb } from "../operate.ts";
import { writeDraft } from "../update.ts";
import { importEntries } from "./import-entries.ts";
import {
  entriesOf,
  type ImportInput,
  numbered,
  orbLine,
  shaped,
  soundDocument,
  withoutFiles,
} from "./import-lines.ts";

export interface Imported {
  orb: ExistingOrb;
  entries: number;
}

/**
 * Imports an application.
 * @throws AppError invalid; the error's paths contain the line number, such as `/lines/3/head/id`
 */
export async function importOrb(deps: HandlerDeps, actor: Actor, input: ImportInput): Promise<Imported> {
  requireOperator(actor, "orbs.import");
  const lines = numbered(input);
  const first = await lines.next();
  await input.authority?.();
  if (first.done === true)
    throw invalid([{ path: "/lines/1", code: "required", message: "is missing, because the file is empty" }]);
  const line = shaped(orbLine, first.value.value, "/lines/1");
  const document = await soundDocument(deps.config, line.document, "/lines/1/document");
  const published =
    line.published === null ? null : await soundDocument(deps.config, line.published, "/lines/1/published");
  if (published !== null && published.id !== document.id) {
    throw invalid([
      {
        path: "/lines/1/published/id",
        code: "mismatch",
        message: "must be the id of the same orb as in the newest document",
      },
    ]);
  }
  if (line.status === "PUBLISHED") await requireHandlers(deps, published ?? document);
  const orb = document.id;
  const begun = await beginImport(deps, actor, orb);
  const stopSigns = startHeartbeat(deps, orb, begun);
  // The newest revision that this import itself has written. Another request may have appended later ones.
  let own: OrbHead = begun;
  try {
    const context = { orb, revision: begun.revision + 1, compiled: compileOrb(published ?? document) };
    const stored = withoutFiles(lines, (file, body) => importFile(deps, orb, file, body));
    const timed = entriesOf(stored, orb, deps.clock.now());
    const entries = await importEntries(deps, context, begun, timed, input.authority);
    await input.authority?.();
    own = await finishImport(deps, begun, published ?? document, line.retired);
    for (const move of movesTo(line.status, published === null ? null : document)) {
      own = await move(deps, actor, { orb, ifMatch: own.revision });
    }
    await compactImported(deps, orb);
    return { orb: await readOrb(deps, orb), entries };
  } catch (error) {
    const ours = await giveUp(deps, actor, orb, own);
    if (ours && !(error instanceof Conflict)) throw error;
    throw new AppError(
      "conflict",
      "write_conflict",
      "Another request cancelled the import. Import the file again.",
      {
        cause: error,
      },
    );
  } finally {
    await stopSigns();
  }
}

/**
 * Moves the changes in the logs of ordered indexes into sorted pages, which are faster to read. If this fails, later
 * readers do it.
 */
async function compactImported(deps: Deps, orb: string): Promise<void> {
  try {
    const definition = await definitionFor(deps, orb);
    if (definition === null) return;
    await compactSchemas(deps, definition, definition.compiled.byHome.values());
    await completeLive(deps, definition, definition.compiled.byHome.values());
  } catch (error) {
    deps.log.warn("the ordered indexes of an import could not be compacted; later writes compact them", {
      orb,
      error: String(error),
    });
  }
}

/**
 * Erases a failed import. Does nothing and returns false if another request has changed the application, or created a
 * new one with the same id.
 */
async function giveUp(deps: Deps, actor: Actor, orb: string, own: OrbHead): Promise<boolean> {
  try {
    await eraseOrb(deps, actor, orb, own);
  } catch (error) {
    if (error instanceof Conflict) return false;
    // Only log this error: the response reports why the import failed. A DELETE request or the next start repeats the
    // cleanup.
    deps.log.error("a failed import could not be erased", { orb, error: String(error) });
  }
  return true;
}

type Move = (deps: HandlerDeps, actor: Actor, target: OrbTarget) => Promise<ExistingOrb>;

/** Returns the operations (publish, archive) that give the imported draft the status of the exported application. */
function movesTo(status: ExistingOrb["status"], draft: OrbDocument | null): Move[] {
  const moves: Move[] = [];
  if (status === "PUBLISHED") moves.push(publishOrb);
  if (draft !== null) moves.push((deps, actor, target) => writeDraft(deps, actor, target, draft));
  if (status === "ARCHIVED" || status === "UNPUBLISHED") moves.push(archiveOrb);
  if (status === "UNPUBLISHED") moves.push(restoreOrb);
  return moves;
}
