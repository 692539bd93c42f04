/** Shows the entries of a change set as lines of text. */
import type { ChangedDefinition, ChangedEntry, ChangedPart } from "../../shared/client/changes.ts";
import { unescapeSegment } from "../../shared/kernel/faults.ts";
import type { Context } from "./command/context.ts";

/** Maximum characters of a value in a line, and of the words between two changes of a text. */
const LONGEST = { value: 120, kept: 60 };

type Color = Context["color"];

function clipped(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most / 2)} … ${text.slice(-most / 2)}`;
}

const shown = (value: unknown) =>
  value === null || value === undefined ? "nothing" : clipped(JSON.stringify(value), LONGEST.value);

/** Returns the names in a JSON Pointer. */
const namesIn = (pointer: string) => pointer.split("/").slice(1).map(unescapeSegment);

function at(value: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (inner, name) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, name)
        ? Reflect.get(inner, name)
        : undefined,
    value,
  );
}

function wordsOf(words: NonNullable<ChangedPart["words"]>, color: Color): string {
  return words
    .map(({ op, text }) => {
      if (op === "keep") return clipped(text, LONGEST.kept);
      return op === "add" ? color("green", `{+${text}+}`) : color("red", `[-${text}-]`);
    })
    .join("");
}

function partLine({ base, proposed }: ChangedEntry["fields"][number], part: ChangedPart, color: Color) {
  const whole = namesIn(part.path);
  const names = whole[0] === "values" ? whole.slice(1) : whole;
  const inside = names.slice(1);
  const place = `  ${names.join(".")}:`;
  if (part.words !== undefined) return `${place} ${wordsOf(part.words, color)}`;
  const after = shown(at(proposed, inside));
  if (part.kind === "moved") return `${place} ${color("yellow", "moved")}`;
  if (part.kind === "removed" && inside.length > 0) return `${place} ${color("red", "removed")}`;
  if (part.kind === "added") return `${place} ${color("green", after)}`;
  return `${place} ${color("red", shown(at(base, inside)))} → ${color("green", after)}`;
}

/** Returns what a conflict is about. */
function conflictLine(entry: ChangedEntry, pointer: string, color: Color): string {
  const mark = color("red", "conflict");
  if (pointer === "")
    return `  ${mark} ${entry.now === null ? "The entry is gone." : "The entry has changed."}`;
  if (pointer === "/status") return `  ${mark} The entry is no longer live.`;
  const [first, ...names] = namesIn(pointer);
  const path = first === "values" ? names : [first ?? "", ...names];
  const field = entry.fields.find(({ name }) => name === path[0]);
  return `  ${mark} ${path.join(".")} is now ${shown(at(field?.now, path.slice(1)))}`;
}

/** Returns the lines of an entry: what the set does with it, the parts that it changes, and the conflicts. */
export function entryLines(entry: ChangedEntry, color: Color): string[] {
  const { act, base, module, schema, id, fields, conflicts } = entry;
  const verb = base === null ? "create" : act === "publish" ? "change" : act;
  return [
    color("bold", `${verb} ${module}/${schema}/${id}`),
    ...fields.flatMap((field) => field.changes.map((part) => partLine(field, part, color))),
    ...conflicts.map((pointer) => conflictLine(entry, pointer, color)),
  ];
}

/** Returns the lines about the definition of the orb: what the set changes in it, and the conflicts. */
export function definitionLines(definition: ChangedDefinition | null, color: Color): string[] {
  if (definition === null) return [];
  const { summary, conflict, force, differences, conflicts } = definition;
  const mark = color("red", "conflict");
  const nowAt = (path: string) => shown(differences.find((one) => one.path === path)?.now);
  const moved = `  ${conflicts.length > 0 ? mark : color("yellow", "behind")} The orb has published another definition. Merge it with: orb change rebase`;
  return [
    color("bold", "definition of the orb"),
    ...summary.map((line) => `  ${line}`),
    ...(force ? [`  ${color("yellow", "removes modules and schemas although they have entries")}`] : []),
    ...(conflict ? [moved] : []),
    ...conflicts.map((path) => `  ${mark} ${path} is now ${nowAt(path)}`),
  ];
}
