/** Compares the tables of the reference with the sources. A missing row fails, and so does a row too many. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BODY_LIMIT } from "../../functions/middleware/body.ts";
import { PASSKEY_LIMIT } from "../../shared/access/ceremony/begin.ts";
import { TOKEN_LIMIT } from "../../shared/access/machines/tokens.ts";
import { LIMITS, SESSION_TTL } from "../../shared/definition/document/document.ts";
import { FIELD_TYPES } from "../../shared/definition/fields/index.ts";
import { MAX_MATCHED } from "../../shared/definition/fields/parts/pattern.ts";
import { MAX_TEXT } from "../../shared/definition/fields/text.ts";
import { MAX_ITEMS } from "../../shared/definition/validate.ts";
import { READ_LIMIT } from "../../shared/entry/query/candidates.ts";
import { ENTRY_LIMIT } from "../../shared/entry/write/prepare.ts";
import {
  HTTP_BODY_LIMIT,
  HTTP_EXCHANGE_MS,
  HTTP_PART_BYTES,
} from "../../shared/handlers/contract/http-limits.ts";
import { ANSWER_LIMIT } from "../../shared/handlers/contract/types.ts";
import { MAX_FAULTS } from "../../shared/kernel/faults.ts";
import { LIMIT_PER_WINDOW } from "../../shared/store/broker/provision.ts";
import { DEFAULT_LIMITS } from "../../shared/streams/read/limits.ts";
import { root } from "../support/guide.ts";
import { codesOfSources } from "./codes.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");

/** Cells of each row of the tables of one section, without the header; code marks are removed from the first. */
function rows(page: string, heading?: string): string[][] {
  let text = read(`docs/reference/${page}.md`);
  if (heading !== undefined) {
    const from = text.indexOf(`\n## ${heading}\n`);
    expect(from, `${page}.md has no section "${heading}"`).toBeGreaterThan(0);
    const to = text.indexOf("\n## ", from + 1);
    text = text.slice(from, to < 0 ? undefined : to);
  }
  return text
    .split("\n")
    .filter((line) => /^\| `/.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .map(([first = "", ...rest]) => [first.replaceAll("`", ""), ...rest]);
}

const names = (table: string[][]) => table.map(([name = ""]) => name).sort();

describe("errors.md", () => {
  const codes = codesOfSources();

  test("lists every code of a problem with its status", () => {
    // Codes that are computed at run time. A new one needs a line here, and its values need rows in the page.
    expect([...codes.computed].map((text) => text.replace("$", "")).sort()).toEqual([
      "`http_{error.status}`",
      "`invitation_{status}`",
      "`too_many_{counted.what}`",
      '`{what.replaceAll(" ", "_")}_not_found`',
      "code",
      "failure.code",
      "known.code",
      "notFound(what)",
    ]);
    const counted = ["writes", "calls", "bytes", "conflicts", "streams"];
    const computed = [
      ...["invitation_used", "invitation_expired"].map((code) => `${code} 410`),
      ...counted.map((what) => `too_many_${what} 429`),
      ...["too_large", "unreadable", "unsupported"].map((why) => `image_${why} 422`),
    ];
    const answered = [...codes.problems].map(([code, statuses]) => `${code} ${[...statuses].join(" ")}`);
    const listed = rows("errors", "Codes of problems").map(([code, status]) => `${code} ${status}`);
    expect(listed.sort()).toEqual([...new Set([...answered, ...computed])].sort());
  });

  test("lists every code of a fault", () => {
    expect(names(rows("errors", "Codes of faults"))).toEqual([...codes.faults].sort());
  });

  test("lists every code of a change", () => {
    const meaning = ["type", "list", "translatable", "market_specific", "sensitive"];
    const computed = [
      ...meaning.map((attribute) => `changed_${attribute}`),
      ...["language", "market"].map((what) => `removed_${what}`),
    ];
    expect(names(rows("errors", "Codes of changes"))).toEqual([...codes.changes, ...computed].sort());
  });
});

describe("settings.md", () => {
  /** Variables that the sources read. */
  function variables(): string[] {
    const found = new Set<string>();
    const take = (path: string, pattern: RegExp) => {
      for (const [, name = ""] of read(path).matchAll(pattern)) found.add(name);
    };
    take("functions/env.ts", /^ {2}([A-Z][A-Z_]+): /gm);
    take("scripts/streams/settings.ts", /^ {2}([A-Z][A-Z_]+): /gm);
    take("scripts/config/hooks-settings.ts", /^ {2}([A-Z][A-Z_]+): /gm);
    take("scripts/config/settings.ts", /"([A-Z][A-Z_]{3,})"/g);
    take("scripts/host.ts", /"([A-Z][A-Z_]{3,})"/g);
    for (const file of readdirSync(join(root, "scripts"))) {
      if (file.endsWith(".ts")) take(`scripts/${file}`, /process\.env\.([A-Z_]+)/g);
    }
    take("scripts/broker/launch.ts", /^ {4}([A-Z]{3,}): /gm);
    take("scripts/doctor/doctor.ts", /process\.env\.([A-Z_]+)/g);
    take("scripts/process/environment.ts", /"([A-Z][A-Z_]{3,})"/g);
    take("scripts/tools/chromium.ts", /process\.env\.([A-Z_]+)/g);
    // The shell sets these.
    for (const name of ["PATH", "TMPDIR", "SYSTEM"]) found.delete(name);
    return [...found].sort();
  }

  test("lists every variable that the sources read", () => {
    expect(names(rows("settings"))).toEqual(variables());
  });

  test("names the defaults of the sources", () => {
    const table = new Map(rows("settings").map(([name = "", value = ""]) => [name, value]));
    const source =
      read("functions/env.ts") +
      read("scripts/streams/settings.ts") +
      read("scripts/config/hooks-settings.ts");
    const counts = [...source.matchAll(/^ {2}([A-Z_]+): (?:count|quota)\(([\d_]+)[,)]/gm)];
    expect(counts.length).toBeGreaterThan(3);
    for (const [, name = "", value = ""] of counts)
      expect([name, table.get(name)]).toEqual([name, value.replaceAll("_", "")]);
    expect(table.get("STREAMS_MAX")).toBe(String(DEFAULT_LIMITS.total));
    expect(table.get("STREAMS_MAX_PER_USER")).toBe(String(DEFAULT_LIMITS.perUser));
    expect(table.get("STREAMS_MAX_PER_ADMIN")).toBe(String(DEFAULT_LIMITS.perAdmin));
  });
});

test("commands.md lists every script of package.json", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const listed = names(rows("commands")).map((command) => command.replace(/^npm (run )?/, ""));
  expect(listed).toEqual(Object.keys(scripts).sort());
});

test("field-types.md says what each type can do", () => {
  const yes = (flag: boolean) => (flag ? "yes" : "no");
  const able = Object.values(FIELD_TYPES).map((type) => [
    type.name,
    type.bounds === "none" ? "no" : type.bounds,
    ...[type.pattern, type.enumerable, type.unique, type.default, type.sensitive, type.sortable].map(yes),
  ]);
  const listed = rows("field-types", "Types").map(([name, _values, ...rest]) => [name, ...rest]);
  expect(listed).toEqual(able);
  const operators = rows("field-types", "Filter operators").map(([name, list = ""]) => [
    name,
    list.replaceAll("`", ""),
  ]);
  expect(operators).toEqual(Object.values(FIELD_TYPES).map((type) => [type.name, type.operators.join(" ")]));
});

test("limits.md names the limits of the sources", () => {
  const lines = read("docs/reference/limits.md").split("\n");
  const number = (value: number) => value.toLocaleString("en-US");
  const kib = (value: number) => `${value / 1024} KiB`;
  const expected: [string, string[]][] = [
    ["| modules;", [number(LIMITS.modules), number(LIMITS.schemas)]],
    ["| fields of a schema;", [number(LIMITS.fields), number(LIMITS.totalFields)]],
    ["| values of an `enum`", [number(LIMITS.enum)]],
    ["| languages;", [number(LIMITS.languages), number(LIMITS.markets)]],
    ["| services in", [number(LIMITS.uses), number(LIMITS.handlers)]],
    ["| session lifetime", [number(SESSION_TTL.min), number(SESSION_TTL.max), number(SESSION_TTL.default)]],
    ["| values of an entry", [kib(ENTRY_LIMIT)]],
    ["| `string`;", [number(MAX_TEXT)]],
    ["| value with a", [number(MAX_MATCHED)]],
    ["| items of a list", [number(MAX_ITEMS)]],
    ["| body", [kib(BODY_LIMIT)]],
    ["| entries that a page reads", [number(READ_LIMIT)]],
    ["| entries that `count=true`", [number(READ_LIMIT)]],
    ["| faults in one", [number(MAX_FAULTS)]],
    ["| sign-in attempts", [number(LIMIT_PER_WINDOW)]],
    ["| passkeys of", [number(PASSKEY_LIMIT)]],
    ["| API tokens of", [number(TOKEN_LIMIT)]],
    ["| body of a request to an", [kib(HTTP_PART_BYTES), `${HTTP_BODY_LIMIT / 1024 / 1024} MiB`]],
    ["| part of a body", [kib(HTTP_PART_BYTES)]],
    ["| whole exchange", [`${HTTP_EXCHANGE_MS / 60_000} minutes`]],
    ["| reply", [`${ANSWER_LIMIT / 1024 / 1024} MiB`]],
    ["| readers of", [DEFAULT_LIMITS.total, DEFAULT_LIMITS.perUser, DEFAULT_LIMITS.perAdmin].map(number)],
  ];
  for (const [start, values] of expected) {
    const line = lines.find((one) => one.startsWith(start)) ?? "";
    for (const value of values) expect(line, start).toContain(value);
  }
});
