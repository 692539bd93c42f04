/** The console has one style sheet for each section. A class that two sections style changes both. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const folder = new URL("../../functions/console/styles/", import.meta.url);
/** Style sheets of all sections. Sections may refine their classes below a class of their own. */
const SHARED = ["tokens.css", "base.css", "shell.css", "ui.css"];

/** Returns the classes that stand alone or first in a selector of a style sheet. */
function classesOf(name: string): Set<string> {
  const text = readFileSync(new URL(name, folder), "utf8").replaceAll(/\/\*.*?\*\//gs, "");
  const selectors = [...text.matchAll(/([^{};]+)\{/g)].flatMap(([, list = ""]) => list.split(","));
  return new Set(selectors.flatMap((one) => /^\s*\.([a-z-]+)/.exec(one)?.[1] ?? []));
}

test("no two sections style the same class", () => {
  const owners = new Map<string, string[]>();
  for (const name of readdirSync(folder).filter((one) => !SHARED.includes(one)))
    for (const each of classesOf(name)) owners.set(each, [...(owners.get(each) ?? []), name]);
  // Sections style their pages and dialogs from the frame's class on.
  for (const frame of ["page", "dialog-body"]) owners.delete(frame);
  const several = [...owners].filter(([, names]) => names.length > 1);
  expect(several.map(([each, names]) => `${each}: ${names.join(", ")}`)).toEqual([]);
});

test("styles follow the direction of the text, because Arabic mirrors the console", () => {
  const physical =
    /^\s*(?:(?:(?:margin|padding|border)-)?(?:left|right)[a-z-]*:|(?:text-align|float): (?:left|right))/;
  const found = readdirSync(folder).flatMap((name) =>
    readFileSync(new URL(name, folder), "utf8")
      .split("\n")
      .filter((line) => physical.test(line)),
  );
  // The gap of a turning circle.
  expect(found).toEqual(["  border-right-color: transparent;"]);
});
