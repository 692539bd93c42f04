/** The subjects in use, and that no orb can own them. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PERMISSIONS } from "../../scripts/broker/permissions.ts";
import { homeOf } from "../../shared/definition/document/home.ts";
import { isReservedOrbId, ORB_ID } from "../../shared/definition/document/ids.ts";
import { SERVICES } from "../../shared/handlers/contract/types.ts";
import { DEFAULT_MAPPINGS, platformStreams } from "../../shared/store/broker/provision.ts";
import { SUBJECT_SPACES, subjects } from "../../shared/store/subjects.ts";

/** Stands for any name that a caller can choose, above all an orb id. */
const NAMED = "named";
const ADDRESS = { orb: NAMED, ...homeOf("CONTENT", NAMED), id: NAMED };

/** Returns every subject that the store builds. Tries the arguments that each function takes. */
function made(): string[] {
  const calls = [
    [NAMED, NAMED, NAMED, NAMED],
    [ADDRESS, NAMED, NAMED],
    [NAMED, ADDRESS, NAMED],
  ];
  return Object.values(subjects as Record<string, unknown>).flatMap((make) => {
    if (typeof make === "string") return [make];
    const texts = calls.flatMap((all) => {
      try {
        return [String((make as (...all: unknown[]) => unknown)(...all))];
      } catch {
        return [];
      }
    });
    expect(texts).not.toEqual([]);
    return texts;
  });
}

const granted = Object.values(PERMISSIONS).flatMap(({ publish, subscribe }) =>
  [publish, subscribe].flatMap(({ allow, deny = [] }) => [...allow, ...deny]),
);
const production = [
  ...readFileSync(new URL("../../scripts/broker/production.conf", import.meta.url), "utf8").matchAll(
    /"([^"\s]+\.(?:>|\*|[^"\s]*\.>))"/g,
  ),
].map(([, subject = ""]) => subject);
const provisioned = platformStreams(1).flatMap(({ subjects: own = [], republish }) => [
  ...own,
  ...Object.values((republish ?? {}) as Record<string, string>),
]);
const mapped = DEFAULT_MAPPINGS.map(({ subjectFilter }) => subjectFilter);

test("no orb id can be the first token of a subject in use", () => {
  const used = [...made(), ...granted, ...production, ...provisioned, ...mapped, SERVICES];
  const firsts = new Set(used.map((subject) => subject.split(".")[0] ?? ""));
  for (const open of [NAMED, "undefined", "[object Object]", ">", "*"]) firsts.delete(open);
  // The derivation includes all known subjects.
  for (const known of [...SUBJECT_SPACES, "$KV", "$JS", "_INBOX", "_limit", "_feed", "_probe"])
    expect(firsts).toContain(known);
  const free = [...firsts].filter((token) => ORB_ID.test(token) && !isReservedOrbId(token));
  expect(free).toEqual([]);
});
