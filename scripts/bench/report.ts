import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { dirname } from "node:path";
import type { Figures } from "./measure.ts";

export interface Row {
  what: string;
  figures: Figures;
  floor?: Figures | undefined;
}

const ratio = (a: number, b: number | undefined) =>
  b === undefined || b === 0 || a === 0 ? "" : (a / b).toFixed(2);
const number = (value: number, digits = 0) => (value === 0 ? "" : value.toFixed(digits));

function print(title: string, head: string[], rows: string[][]): void {
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join("  ");
  console.log(`\n${title}\n${line(head)}\n${widths.map((width) => "-".repeat(width)).join("  ")}`);
  for (const row of rows) console.log(line(row));
}

/** Prints the rows with their ratios to the lower bound. A ratio below 1 is better than the lower bound. */
export function printRows(title: string, rows: readonly Row[]): void {
  print(
    title,
    [
      "",
      "req/s",
      "p50 ms",
      "p99 ms",
      "alone ms",
      "CPU µs",
      "broker µs",
      "CPU : floor",
      "alone : floor",
      "failed",
    ],
    rows.map(({ what, figures: f, floor }) => [
      what,
      number(f.perSecond),
      number(f.p50, 2),
      number(f.p99, 1),
      number(f.aloneP50, 2),
      number(f.cpuUs),
      number(f.brokerUs),
      ratio(f.cpuUs, floor?.cpuUs),
      ratio(f.aloneP50, floor?.aloneP50),
      f.failures === 0 ? "" : `${f.failures} (${f.failure})`,
    ]),
  );
}

/** Prints one row per operation and one column per size. */
export function printGrowth(
  title: string,
  sizes: readonly string[],
  rows: Record<string, (number | undefined)[]>,
): void {
  print(
    title,
    ["", ...sizes, "last : first"],
    Object.entries(rows).map(([name, values]) => [
      name,
      ...values.map((value) => (value === undefined ? "-" : value.toFixed(2))),
      ratio(values.at(-1) ?? 0, values[0]),
    ]),
  );
}

export interface Compared {
  what: string;
  ours: Figures | undefined;
  peers: Record<string, Figures | undefined>;
}

/**
 * Prints the figure of this platform for each request, and the ratio of that figure to each other product's figure.
 */
export function printComparison(
  title: string,
  names: readonly string[],
  rows: readonly Compared[],
  of: (figures: Figures) => number,
): void {
  const cell = (f: Figures | undefined) => {
    if (f === undefined) return "refused";
    return `${of(f).toFixed(0)}${f.failures === 0 ? "" : ` (${f.failures} failed)`}`;
  };
  print(
    title,
    ["", "ours", ...names.flatMap((name) => [name, "ours : it"])],
    rows.map(({ what, ours, peers }) => [
      what,
      cell(ours),
      ...names.flatMap((name) => {
        const its = peers[name];
        const both = ours !== undefined && its !== undefined;
        return [cell(its), both ? ratio(of(ours), of(its)) : ""];
      }),
    ]),
  );
}

export function printPairs(title: string, pairs: Record<string, string>): void {
  print(title, ["", ""], Object.entries(pairs));
}

export function machine(): Record<string, unknown> {
  return {
    date: new Date().toISOString().slice(0, 10),
    cores: cpus().length,
    processor: cpus()[0]?.model ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  };
}

export function writeReport(path: string, report: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
  console.log(`\nWritten to ${path}`);
}
