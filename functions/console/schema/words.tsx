/** Describes differences between documents in words. */
import type { Difference } from "../../../shared/differences/named.ts";
import { has, t, withCommas } from "../texts/t.ts";
import { Icon } from "../ui/icon.tsx";
import {
  isList,
  isObject,
  type Json,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
} from "./document/pointer.ts";

type Way = Difference["way"];
type Tone = "added" | "removed" | "changed";

const SHOWN = 60;

/** Returns a value as text, truncated. */
export function brief(value: unknown): string {
  if (value === undefined || value === null) return t("change.none");
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN - 1)}…`;
}

/** Lists in the document whose items have texts of their own, in addition to modules, schemas and fields. */
const ITEMS = ["roles", "uses", "hooks", "schedules", "providers"] as const;

/**
 * Splits a path into a description of its object, such as `field price of catalog/product`, and the rest of the path.
 */
function subjectOf(way: Way): { what: string; rest: Way } {
  const [first, module, schemas, schema, fields, field] = way;
  if (first === "modules" && module !== undefined) {
    if (schemas !== "schemas" || schema === undefined)
      return { what: t("change.module", { module }), rest: way.slice(2) };
    if (fields !== "fields" || field === undefined)
      return { what: t("change.schema", { module, schema }), rest: way.slice(4) };
    return { what: t("change.field", { module, schema, field }), rest: way.slice(6) };
  }
  const at = way.findIndex((name) => (ITEMS as readonly string[]).includes(name));
  const list = ITEMS.find((name) => name === way[at]);
  const id = way[at + 1];
  if (list !== undefined && id !== undefined)
    return { what: t(`change.${list}`, { id }), rest: way.slice(at + 2) };
  return { what: t("change.orb"), rest: way };
}

const labelOf = (name: string): string =>
  has(`attribute.${name}`) ? t(`attribute.${name}` as Parameters<typeof t>[0]) : name;

const isOrder = ({ from, to }: Difference): boolean =>
  isList(from) && isList(to) && from.length === to.length && isObject(from[0]);

export function wordsOfWay(way: Way): string {
  const { what, rest } = subjectOf(way);
  const label = withCommas(rest.map(labelOf));
  if (rest.length === 0) return what;
  return rest === way ? label : withCommas([what, label]);
}

/** Summarizes an added module, schema or field. */
function contentOf({ schemas, fields, type }: JsonObject): string {
  const named = (list: Json | undefined, name: string) =>
    listOf(list).map((item) => textOf(objectOf(item)[name]));
  const parts = [textOf(type), ...named(schemas, "id"), withCommas(named(fields, "name"))];
  return brief(withCommas(parts.filter(Boolean)));
}

export function wordsOf(difference: Difference): { tone: Tone; text: string } {
  const { way, from, to } = difference;
  const { rest } = subjectOf(way);
  const what = wordsOfWay(way);
  if (isOrder(difference)) return { tone: "changed", text: t("change.order", { what }) };
  if (rest.length === 0 && from === undefined) {
    const about = contentOf(objectOf(to));
    return {
      tone: "added",
      text: about === "" ? t("change.added", { what }) : t("change.addedAbout", { what, about }),
    };
  }
  if (rest.length === 0 && to === undefined) return { tone: "removed", text: t("change.removed", { what }) };
  if (from === undefined) return { tone: "added", text: t("change.set", { what, to: brief(to) }) };
  if (to === undefined) return { tone: "removed", text: t("change.unset", { what, from: brief(from) }) };
  return { tone: "changed", text: t("change.changed", { what, from: brief(from), to: brief(to) }) };
}

const ICONS = { added: "plus", removed: "trash", changed: "pencil" } as const;

export function Changes({ of }: { of: readonly { tone: Tone; text: string }[] }) {
  return (
    <ul class="changes">
      {of.map(({ tone, text }) => (
        <li key={text} class={tone}>
          <Icon name={ICONS[tone]} size={14} />
          <p>{text}</p>
        </li>
      ))}
    </ul>
  );
}

/** Returns the tone (color) of a line in a change summary: an addition, a removal or another change. */
export const toneOf = (text: string): { tone: Tone; text: string } => ({
  tone: /^(added|uses|grants|created)\b/.test(text)
    ? "added"
    : /^(removed|no longer|deleted)\b/.test(text)
      ? "removed"
      : "changed",
  text,
});
