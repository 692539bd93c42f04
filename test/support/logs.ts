/** Searches all logs of a test run for secrets. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { secretsIn } from "../../scripts/tools/audit.ts";

/** Returns the names of the secrets in a text, without the secrets themselves. */
export function leaksIn(text: string, secrets: Record<string, string | undefined> = {}): string[] {
  const known = Object.entries(secrets).flatMap(([name, value]) =>
    value !== undefined && value.length > 15 && text.includes(value) ? [name] : [],
  );
  return [...known, ...secretsIn(text)];
}

/** Returns the secrets of a platform by name: key lists, each key, and passwords. */
export function secretsOf(bindings: Record<string, string>): Record<string, string | undefined> {
  const secrets: Record<string, string | undefined> = {
    NATS_PASS: bindings.NATS_PASS,
    METRICS_TOKEN: bindings.METRICS_TOKEN,
  };
  for (const [i, key] of (bindings.CLAIM_KEY ?? "").split(",").entries()) secrets[`CLAIM_KEY ${i}`] = key;
  for (const name of ["JWT_SIGNING_KEYS", "ENCRYPTION_KEYS"]) {
    const keys = JSON.parse(bindings[name] ?? "[]") as { d?: string; k?: string }[];
    for (const [i, { d, k }] of keys.entries()) secrets[`${name} ${i}`] = d ?? k;
  }
  return secrets;
}

/**
 * Searches the log files of all data folders in a folder. Does not follow links, because folders of the guides link to
 * the whole checkout.
 * @returns one line per finding
 */
export function searchLogFiles(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return searchLogFiles(path);
    if (!entry.isFile() || !(dir.endsWith("/logs") || path.endsWith(".log"))) return [];
    return leaksIn(readFileSync(path, "utf8")).map((kind) => `${path}: ${kind}`);
  });
}
