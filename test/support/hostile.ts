/** Generators of hostile input for property tests. */
import fc from "fast-check";

/** Texts with a special meaning in a broker, a header, a path, an object, a template or a log. */
export const TEXTS = [
  "",
  " ",
  "*",
  ">",
  "a.b",
  "a.*.>",
  "$JS.API.STREAM.DELETE.platform",
  "_INBOX.fn.x",
  "x\r\nX-Injected: 1",
  "x\nNats-Rollup: all",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udfff\ud800",
  "é\u0301\u202e",
  "İı",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "../../etc/passwd",
  "..%2f..",
  "<script>alert(1)</script>",
  "{{7*7}}",
  "' OR 1=1 --",
  "ø",
  "null",
  "NaN",
  "-0",
  "1e999",
  "9007199254740993",
  "2026-02-30T25:61:61Z",
  "+275760-09-13T00:00:00.001Z",
  "-000000-01-01",
  `${"a".repeat(40)}!`,
  "a".repeat(5_000),
  "(".repeat(300),
  "[".repeat(300),
  "\\".repeat(300),
  "%".repeat(300),
  ",".repeat(3_000),
  ";q=".repeat(1_000),
  " ".repeat(3_000),
] as const;

/** Path segments, exactly as they are sent. */
const SEGMENTS = [
  "%",
  "%zz",
  "%00",
  "%0d%0aX-Injected:%201",
  "%e0%a4",
  "%ed%a0%80",
  "%c0%ae%c0%ae",
  "%ff",
  "%2e%2e",
  "..",
  ".",
  "%2f",
  "%5c",
  "*",
  "%3e",
  ">",
  "a.b",
  "a%20b",
  "a b".replace(" ", "+"),
  "__proto__",
  "constructor",
  "toString",
  "%24JS",
  "_ix",
  "_auth",
  "ø",
  "\u{1f600}",
  "x".repeat(300),
  "x".repeat(5_000),
  "-1",
  "0",
  "1",
  "99999999999999999999",
  "1e3",
  "0x10",
] as const;

export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
);

/** Generates path segments. Those of real routes are included, so that requests reach deeper routes. */
export function segment(known: readonly string[]): fc.Arbitrary<string> {
  const hostile = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...SEGMENTS) },
    { weight: 1, arbitrary: text.map((value) => safeEncode(value)) },
  );
  if (known.length === 0) return hostile;
  return fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, { weight: 2, arbitrary: hostile });
}

/** Percent-encodes a string, even one with lone surrogates, which `encodeURIComponent` rejects. */
export function safeEncode(value: string): string {
  return [...Buffer.from(value)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

const scalar: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: text },
  {
    weight: 2,
    arbitrary: fc.constantFrom(null, true, false, 0, -1, 1, 2 ** 53, -(2 ** 53), 1e308, 5e-324, 0.1, [], {}),
  },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
);

/**
 * Placeholder for the name `__proto__`, inserted only into the JSON text: in a JavaScript object, this name would set
 * the prototype.
 */
const PROTO = "@proto@";

/** JSON text of objects with known and dangerous keys. */
export function json(keys: readonly string[]): fc.Arbitrary<string> {
  const key = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...keys) },
    { weight: 1, arbitrary: fc.constantFrom(PROTO, "constructor", "prototype", "toString", "$sealed", "") },
    { weight: 1, arbitrary: text },
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      scalar,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie("value")), { maxLength: 6 }).map((pairs) => Object.fromEntries(pairs)),
    ),
  }));
  const object = fc
    .array(fc.tuple(key, value), { minLength: 1, maxLength: 8 })
    .map((pairs) => Object.fromEntries(pairs));
  return fc
    .oneof({ weight: 8, arbitrary: object }, { weight: 1, arbitrary: value })
    .map((made) => asText(made));
}

export function asText(value: unknown): string {
  return (JSON.stringify(value) ?? "null").replaceAll(PROTO, "__proto__");
}

/** Generates variations of a valid document, with one to four parts replaced, removed or added. */
export function mutated(document: unknown): fc.Arbitrary<string> {
  const mutation = fc.record({
    at: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
    act: fc.constantFrom("replace", "remove", "add", "double"),
    key: fc.constantFrom(PROTO, "constructor", "toString", "x", "type", "values", "id", "pattern"),
    value: fc.oneof(scalar, fc.constant({ [PROTO]: { polluted: "yes" } })),
  });
  return fc.array(mutation, { minLength: 1, maxLength: 4 }).map((mutations) => {
    const copy: unknown = structuredClone(document);
    for (const { at, act, key, value: given } of mutations) {
      const value: unknown = structuredClone(given);
      let parent = copy as Record<string, unknown>;
      let name: string | undefined;
      for (const step of at) {
        const names = Object.keys(parent);
        if (names.length === 0) break;
        name = names[step % names.length] as string;
        const child = parent[name];
        if (child === null || typeof child !== "object") break;
        if (step % 5 === 0) break;
        parent = child as Record<string, unknown>;
        name = undefined;
      }
      name ??= Object.keys(parent)[0];
      if (act === "add" || name === undefined) {
        if (!Array.isArray(parent)) parent[key] = value;
      } else if (act === "remove") delete parent[name];
      else if (act === "double" && Array.isArray(parent)) parent.push(structuredClone(parent[0]));
      else parent[name] = value;
    }
    return asText(copy);
  });
}

/** Generates header values: any text on one line. */
export const headerValue: fc.Arbitrary<string> = text.map((value) =>
  value.replace(/[\r\n\0]/g, "?").slice(0, 8_000),
);
