/** Runs the JSON Schema Test Suite, with which implementations of JSON Schema compare themselves. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { compileJsonSchema } from "../../shared/handlers/schema/json-schema.ts";

interface Group {
  suite: string;
  description: string;
  schema: unknown;
  tests: { description: string; data: unknown; valid: boolean }[];
}

const lines = (name: string) =>
  readFileSync(new URL(`../fixtures/json-schema/${name}`, import.meta.url), "utf8")
    .trim()
    .split("\n");

/** Returns one line for a schema that is refused, or for each value with another result than the suite's. */
function differences({ suite, description, schema, tests }: Group): string[] {
  const check = compileJsonSchema(schema);
  if (!Array.isArray(check))
    return tests
      .filter(({ data, valid }) => (check(data).length === 0) !== valid)
      .map(
        (one) => `${suite} | ${description} | ${one.description} | is ${one.valid ? "refused" : "accepted"}`,
      );
  const keywords = new Set(check.map(({ path, code }) => `${path.split("/").at(-1)} ${code}`));
  return [`${suite} | ${description} | schema is refused: ${[...keywords].sort().join(", ")}`];
}

test("schemas of handlers give the results of the suite for 2020-12, except for the listed differences", () => {
  const groups = lines("draft2020-12.jsonl").map((line) => JSON.parse(line) as Group);
  expect(groups.flatMap(({ tests }) => tests)).toHaveLength(2_225);
  expect(groups.flatMap(differences)).toEqual(lines("differences.txt"));
});
