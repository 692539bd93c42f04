/** The texts of the console: each is used, and each value that a text needs is named in it. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import texts from "../../functions/console/texts/en.json" with { type: "json" };

const folder = new URL("../../functions/console/", import.meta.url);
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => readFileSync(new URL(path, folder), "utf8"))
  .concat(readFileSync(new URL("../../scripts/bundle/console.ts", import.meta.url), "utf8"))
  .join("\n");

const keys = Object.entries(texts).flatMap(([area, names]) =>
  Object.keys(names).map((name) => `${area}.${name}`),
);

/** Patterns of keys that are put together, such as `create.${way}Hint`. */
const patterns = [...sources.matchAll(/`([a-z]+\.(?:\$\{[^}]*\}|[^`$\s])+)`/g)].map(
  ([, template = ""]) =>
    new RegExp(
      `^${template
        .split(/\$\{[^}]*\}/)
        .map((part) => part.replaceAll(".", "\\."))
        .join("\\w+")}$`,
    ),
);

test("has no text that the console does not use", () => {
  // The page without scripts shows texts of the area `app`.
  const inPage = (key: string) => key.startsWith("app.") && sources.includes(`\${${key}}`);
  const used = (key: string) =>
    sources.includes(`"${key}"`) || inPage(key) || patterns.some((pattern) => pattern.test(key));
  expect(keys.filter((key) => !used(key))).toEqual([]);
});

test("keeps areas and texts in alphabetical order, so that additions rarely conflict", () => {
  const sorted = (names: string[]) =>
    names.toSorted((a, b) => a.toLowerCase().localeCompare(b.toLowerCase()));
  for (const names of [texts, ...Object.values(texts)].map((part) => Object.keys(part)))
    expect(names).toEqual(sorted(names));
});
