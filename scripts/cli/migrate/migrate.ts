/** The command `orb migrate-from`, which moves the content of another system into a new orb. */
import { CommandError, type Context } from "../command/context.ts";
import { documentOf, ensureOrb } from "./document.ts";
import { fitDocument, writingOrder } from "./fit.ts";
import type { Loss, Source, SourceOptions } from "./model/source.ts";
import { compare } from "./parity.ts";
import { tell, tellDry } from "./report.ts";
import { keyOf, type RowContext, rowOf } from "./rows.ts";
import { openContentful } from "./systems/contentful.ts";
import { openDirectus } from "./systems/directus/directus.ts";
import { openPayload } from "./systems/payload/payload.ts";
import { openPocketbase } from "./systems/pocketbase.ts";
import { openSanity } from "./systems/sanity.ts";
import { openStrapi } from "./systems/strapi/strapi.ts";
import { openWordpress } from "./systems/wordpress.ts";
import { writeEntries } from "./write.ts";

const OPENERS = {
  contentful: openContentful,
  directus: openDirectus,
  payload: openPayload,
  pocketbase: openPocketbase,
  sanity: openSanity,
  strapi: openStrapi,
  wordpress: openWordpress,
} satisfies Record<string, (options: SourceOptions) => Promise<Source>>;

export type System = keyof typeof OPENERS;
export const SYSTEMS = Object.keys(OPENERS).filter((name): name is System => Object.hasOwn(OPENERS, name));

export interface MigrateInput {
  system: System;
  /** File, folder or address of the other system's content. */
  source: string;
  /** Id of the orb to make. */
  orb: string;
  dryRun: boolean;
  /** Folder of the files. */
  files: string | undefined;
  localFiles: boolean;
  /** Who may read published entries. */
  read: string;
  /** Path of the report. */
  report: string | undefined;
}

/** @returns 1 if something differs from the source, otherwise 0 */
export async function migrate(context: Context, input: MigrateInput): Promise<number> {
  const { system, orb } = input;
  const open = () => OPENERS[system]({ source: input.source, env: context.env });
  const source = await open();
  if (source.document.schemas.length === 0) throw new CommandError(`${input.source} has no content types.`);
  const order = writingOrder(source.document);
  const fitted = await fitDocument(source, order);
  const folder = input.files ?? source.folder;
  const document = documentOf(orb, source, fitted, input.read);
  const before = [...source.losses, ...fitted.losses];
  if (input.dryRun) {
    const rows: RowContext = { orb, fitted, folder, noFiles: new Map(), refused: new Map(), lost: new Set() };
    const losses = [...before, ...(await lossesOf(source, order, rows))];
    const entries = Object.fromEntries([...fitted.known].map(([schema, { size }]) => [schema, size]));
    return tellDry(context, { system, orb, losses, document, entries });
  }
  await ensureOrb(context, document);
  const writing = {
    orb,
    source,
    fitted,
    order,
    folder,
    loopback: input.localFiles || source.isLocal === true,
  };
  const written = await writeEntries(context, writing);
  const losses = [...before, ...(await lossesOf(source, order, written.context)), ...written.losses];
  // Some sources keep in memory what they have read when they were opened.
  const parity = await compare(context, { ...writing, source: await open() }, written);
  const { created, updated } = written;
  return tell(
    context,
    { system, orb, created, updated, ...parity, losses },
    input.report ?? `${orb}-migration.json`,
  );
}

/** Returns what of the entries is not carried. */
async function lossesOf(source: Source, order: readonly string[], rows: RowContext): Promise<Loss[]> {
  const losses: Loss[] = [];
  const seen = new Set<string>();
  for (const schema of order)
    for await (const entry of source.entries(schema)) {
      if (seen.has(keyOf(entry))) continue;
      const live = rowOf(rows, entry, 1);
      losses.push(...(live.isHeld ? rowOf(rows, entry, 1, "draft") : live).losses);
      if (live.lacksReferences)
        losses.push({
          ...{ kind: "value", at: `${schema} ${entry.id}` },
          why: "it is published, and refers to entries that are not",
          became: "published without these references; a newer draft has them",
        });
    }
  return losses;
}
