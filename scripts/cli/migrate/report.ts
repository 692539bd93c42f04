/** Reports what a migration has carried, and everything that it has not. */
import { writeFileSync } from "node:fs";
import type { Context } from "../command/context.ts";
import type { OrbDocument } from "./document.ts";
import type { Loss } from "./model/source.ts";
import type { Parity } from "./parity.ts";

export interface Report extends Parity {
  system: string;
  orb: string;
  /** Entries that this run has created and changed. */
  created: number;
  updated: number;
  /** Everything that could not be carried as it was. */
  losses: readonly Loss[];
  document?: OrbDocument;
}

/** Maximum lines of a kind that the command prints. The file of the report has all. */
const PRINTED = 20;
/** Only the user may read the report: it contains values. */
const PRIVATE = 0o600;

/**
 * Prints a report, and writes the whole of it to a file.
 * @returns the exit code: 1 if something differs
 */
export function tell(context: Context, report: Report, file: string): number {
  const { losses, differences, schemas, orb, created, updated } = report;
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`, { mode: PRIVATE });
  context.result(report, () => [
    `Created ${created} entries, changed ${updated}.`,
    ...schemas.map((one) => `${orb}/${one.schema}: ${countsOf(one)}`),
    `All: ${countsOf(sumOf(schemas))}`,
    ...section("Not carried, or not as it was", losses.map(lossText)),
    ...section(
      "Different",
      differences.map(({ at, source, stored }) => `${at}: ${source} in the source, ${stored} in the orb`),
    ),
    `The whole report: ${file}`,
  ]);
  return differences.length > 0 || losses.some(({ kind }) => kind !== "model") ? 1 : 0;
}

/** Prints what a migration would make. */
export function tellDry(
  context: Context,
  report: Pick<Report, "system" | "orb" | "losses" | "document"> & {
    entries: Readonly<Record<string, number>>;
  },
): number {
  context.result(report, () => [
    JSON.stringify(report.document, null, 2),
    ...Object.entries(report.entries).map(([schema, count]) => `${schema}: ${count} entries`),
    ...section("Not carried, or not as it was", report.losses.map(lossText)),
    "Nothing was written. Files are not checked before they are uploaded.",
  ]);
  return 0;
}

const lossText = ({ at, why, became }: Loss) => `${at}: ${why}. Now: ${became}`;

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length > PRINTED ? [`  … and ${lines.length - PRINTED} more`] : [];
  return [`${title} (${lines.length}):`, ...lines.slice(0, PRINTED).map((line) => `  ${line}`), ...more];
}

type Counts = Omit<Parity["schemas"][number], "schema">;

function sumOf(schemas: readonly Counts[]): Counts {
  const sum: Counts = { source: 0, stored: 0, others: 0, values: 0, equal: 0, files: 0, equalFiles: 0 };
  for (const one of schemas) {
    sum.source += one.source;
    sum.stored += one.stored;
    sum.others += one.others;
    sum.values += one.values;
    sum.equal += one.equal;
    sum.files += one.files;
    sum.equalFiles += one.equalFiles;
  }
  return sum;
}

function countsOf({ source, stored, others, values, equal, files, equalFiles }: Counts): string {
  return [
    `${stored} of ${source} entries`,
    `${equal} of ${values} values`,
    ...(files > 0 ? [`${equalFiles} of ${files} files`] : []),
    ...(others > 0 ? [`${others} entries that the source does not have`] : []),
  ].join(", ");
}
