import { format as formats, ucs2length } from "@cfworker/json-schema";
import { isObject } from "../../kernel/json.ts";
import type { Run } from "./run.ts";

export type Members = Record<string, unknown>;

export function namesOf(value: Members, run: Run): string[] {
  const names = Object.keys(value);
  run.spend(names.length);
  return names;
}

/** Returns a value to use as a map key. Equal JSON values have the same key, whatever the order of their properties. */
export function identity(value: unknown, run?: Run): unknown {
  if (typeof value === "object" && value !== null) return canonical(value, run);
  if (typeof value !== "string") return value;
  run?.spend(value.length / 16);
  // The leading quote distinguishes a string from a serialized object.
  return `"${value}`;
}

function canonical(value: unknown, run?: Run): string {
  run?.spend(4);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, run)).join()}]`;
  if (isObject(value)) {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${canonical(name, run)}:${canonical(value[name], run)}`).join()}}`;
  }
  const text = JSON.stringify(value) ?? "";
  run?.spend(text.length / 16);
  return text;
}

export function equalItems(items: readonly unknown[], run: Run): readonly [number, number] | undefined {
  const known = new Map<unknown, number>();
  for (const [index, item] of items.entries()) {
    run.spend(2);
    const key = identity(item, run);
    const first = known.get(key);
    if (first !== undefined) return [first, index];
    known.set(key, index);
  }
  return undefined;
}

export function lengthOf(text: string, run: Run): number {
  run.spend(text.length / 16);
  return ucs2length(text);
}

/** Converts a number to digits and a power of ten, to avoid rounding errors. */
function decimal(value: number): readonly [digits: bigint, exponent: number] {
  const [written = "0", exponent = "0"] = Math.abs(value).toString().split("e");
  const [whole = "0", fraction = ""] = written.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

export function isMultiple(value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || !(divisor > 0)) return false;
  const [[a, left], [b, right]] = [decimal(value), decimal(divisor)];
  const shift = left - right;
  return shift >= 0 ? (a * 10n ** BigInt(shift)) % b === 0n : a % (b * 10n ** BigInt(-shift)) === 0n;
}

/**
 * Returns whether a string is a URL. The validator library's regular expression could take minutes for forty letters.
 */
function isWebAddress(text: string): boolean {
  return !/\s/.test(text) && ["http:", "https:", "ftp:"].includes(URL.parse(text)?.protocol ?? "");
}

/** Returns the check for a format; undefined if the format is unknown, because then every text is valid. */
export function formatOf(name: string): ((text: string) => boolean) | undefined {
  if (name === "url") return isWebAddress;
  return Object.hasOwn(formats, name) ? formats[name] : undefined;
}
