import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hashOf } from "../../scripts/host/hash.ts";
import { ResponseFile } from "../../scripts/host/response-file.ts";
import { smallDisk } from "../support/disk.ts";
import { seededRandom } from "../support/random.ts";

const MIB = 1024 * 1024;
const any = () => true;

function never(error: unknown): void {
  throw error;
}

function opened(bytes: number) {
  const file = new ResponseFile(bytes, never);
  return Object.assign(file, { [Symbol.dispose]: () => file.close() });
}

/** Finds two texts with the same hash by trying. */
function twins(): [string, string] {
  const seen = new Map<number, string>();
  for (let n = 0; ; n++) {
    const text = `/api/shop/catalog/${n}`;
    const other = seen.get(hashOf(text));
    if (other !== undefined) return [other, text];
    seen.set(hashOf(text), text);
  }
}

test("returns stored responses byte for byte", () => {
  using file = opened(MIB);
  const answers = new Map<string, { subject: string; etag: string | undefined; body: Buffer }>();
  for (let n = 0; n < 500; n++) {
    const text = `${"ö€😀x".repeat(n % 90)}${n}`;
    const key = `/api/shop/catalog/${n}\n\xe9,en;q=0.5\n\0`;
    const etag = n % 3 === 0 ? undefined : `"${n}-a"`;
    answers.set(key, { subject: `s.${n}`, etag, body: Buffer.from(text) });
    expect(file.put(key, `s.${n}`, n, etag, n % 2 === 0 ? text : Buffer.from(text))).toBe(true);
  }
  expect(file.answers).toBe(500);
  let n = 0;
  for (const [key, { etag, body }] of answers)
    expect(file.get(key, any)).toEqual({ generation: n++, etag, body });
  expect(file.get("/api/shop/catalog/500", any)).toBeUndefined();
});

test("replaces a response, and drops it by subject, key or generation", () => {
  using file = opened(MIB);
  const body = (key: string) => file.get(key, any)?.body.toString();
  file.put("a", "s.1", 0, undefined, "one");
  file.put("a", "s.2", 0, undefined, "two");
  file.put("b", "s.2", 0, undefined, "three");
  file.put("c", "s.3", 0, undefined, "four");
  expect([body("a"), body("b"), body("c"), file.answers]).toEqual(["two", "three", "four", 3]);
  file.forget("s.1");
  expect(body("a")).toBe("two");
  file.forget("s.2");
  expect([body("a"), body("b"), body("c"), file.answers]).toEqual([undefined, undefined, "four", 1]);
  file.drop("c");
  expect([body("c"), file.answers]).toEqual([undefined, 0]);
  file.put("d", "s.4", 7, undefined, "five");
  expect(file.get("d", (generation) => generation !== 7)).toBeUndefined();
  expect(file.get("d", (generation) => generation === 7)?.generation).toBe(7);
});

test("never confuses responses whose keys or subjects have the same hash", () => {
  using file = opened(MIB);
  const [one, other] = twins();
  file.put(one, "s.1", 1, undefined, "one");
  expect(file.get(other, any)).toBeUndefined();
  // Dropping one too many only costs time. Dropping one too few would return an outdated response.
  file.put(other, "s.2", 2, undefined, "other");
  expect(file.get(other, any)?.body.toString()).toBe("other");
  expect(file.get(one, any)).toBeUndefined();
  file.put("a", one, 0, undefined, "a");
  file.put("b", other, 0, undefined, "b");
  file.forget(other);
  expect([file.get("a", any), file.get("b", any)]).toEqual([undefined, undefined]);
});

test("keeps at most 32 responses per subject and drops the oldest", () => {
  using file = opened(MIB);
  file.put("another", "s.2", 0, undefined, "x");
  for (let n = 0; n < 100; n++) file.put(`k${n}`, "s.1", 0, undefined, String(n));
  const known = Array.from({ length: 100 }, (_, n) => n).filter((n) => file.get(`k${n}`, any) !== undefined);
  expect(known).toEqual(Array.from({ length: 32 }, (_, n) => 68 + n));
  file.forget("s.1");
  expect([file.answers, file.get("another", any)?.body.toString()]).toEqual([1, "x"]);
});

test("overwrites the oldest responses and never returns a mixed one", () => {
  using file = opened(4 * 65_535);
  const bodyOf = (n: number, version: number) => `${n}.${version} `.repeat(1 + ((n * 37 + version) % 400));
  const latest = new Map<number, number>();
  const { below } = seededRandom(7);
  let hits = 0;
  for (let step = 0; step < 60_000; step++) {
    const n = below(900);
    const act = below(10);
    if (act < 4) {
      const version = step;
      latest.set(n, version);
      expect(file.put(`k${n}`, `s.${n}`, n, `"${version}"`, bodyOf(n, version))).toBe(true);
    } else if (act < 5) {
      latest.delete(n);
      file.forget(`s.${n}`);
    } else {
      const found = file.get(`k${n}`, any);
      if (found === undefined) continue;
      hits++;
      const version = latest.get(n);
      expect(version).toBeDefined();
      expect(found.etag).toBe(`"${version}"`);
      expect(found.body.toString()).toBe(bodyOf(n, version ?? 0));
    }
  }
  expect(hits).toBeGreaterThan(3_000);
  // The last response is always there, along with many others.
  file.put("last", "s.last", 0, undefined, "x");
  expect(file.get("last", any)?.body.toString()).toBe("x");
  expect(file.answers).toBeGreaterThan(50);
  expect(file.answers).toBeLessThanOrEqual(Math.ceil((4 * 65_535) / 768));
});

test("small responses fill the index, and large ones are not kept", () => {
  using file = opened(2 * 65_535);
  for (let n = 0; n < 1_000; n++) file.put(`k${n}`, `s.${n}`, 0, undefined, "x");
  expect(file.answers).toBe(Math.ceil((2 * 65_535) / 768));
  expect(file.get("k999", any)?.body.toString()).toBe("x");
  expect(file.get("k0", any)).toBeUndefined();
  expect(file.put("k999", "s.999", 0, undefined, "x".repeat(65_536))).toBe(false);
  // The former response is outdated and must not be returned.
  expect(file.get("k999", any)).toBeUndefined();
});

test("leaves no file behind, and is disabled where it cannot create one", () => {
  const dir = mkdtempSync(join(tmpdir(), "answer-file-"));
  try {
    const file = new ResponseFile(MIB, never, dir);
    expect(file.works).toBe(true);
    expect(readdirSync(dir)).toEqual([]);
    file.close();
    const failures: unknown[] = [];
    const nowhere = new ResponseFile(MIB, (error) => failures.push(error), join(dir, "missing"));
    expect([nowhere.works, nowhere.put("a", "s", 0, undefined, "x"), failures.length]).toEqual([
      false,
      false,
      1,
    ]);
    expect(nowhere.get("a", any)).toBeUndefined();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test("is disabled when the disk is full", ({ skip }) => {
  const dir = mkdtempSync(join(tmpdir(), "answer-file-"));
  const disk = smallDisk(dir, 1);
  try {
    if (disk === undefined) skip("no disk of its own may be had here");
    const failures: unknown[] = [];
    const file = new ResponseFile(8 * MIB, (error) => failures.push(error), dir);
    const body = "x".repeat(1_000);
    let put = 0;
    while (put < 5_000 && file.put(`k${put}`, `s.${put}`, 0, undefined, body)) put++;
    expect(put).toBeGreaterThan(500);
    expect(put).toBeLessThan(1_200);
    expect(failures.map(String)).toEqual([expect.stringContaining("ENOSPC")]);
    expect([file.works, file.answers, file.get("k0", any)]).toEqual([false, 0, undefined]);
  } finally {
    disk?.release();
    rmSync(dir, { recursive: true, force: true });
  }
});
