/** Texts that describe fields, periods of visibility (windows) and languages. */
import { traitsOf } from "../../../../../shared/definition/types/index.ts";
import type { EntryItem } from "../../../api/entries.ts";
import type { FieldModel } from "../../../model/orb.ts";
import { patternWords } from "../../../model/pattern.ts";
import { LANGUAGE, LOCALE, listOfAll, t } from "../../../texts/t.ts";
import { exactTime } from "../../../ui/time.tsx";

function limitsOf({ type, min, max }: FieldModel): string | undefined {
  const unit = traitsOf(type).bounds === "length" ? "Length" : "";
  if (min !== undefined && max !== undefined) return t(`entry.between${unit}`, { min, max });
  if (max !== undefined) return t(`entry.most${unit}`, { max });
  return min === undefined ? undefined : t(`entry.least${unit}`, { min });
}

/** Returns the text that the schema has for values that do not match, in a language that the reader understands. */
function messageOf({ message }: FieldModel): string | undefined {
  if (message === undefined || typeof message === "string") return message;
  const [language = ""] = LOCALE.split("-");
  return message[LOCALE] ?? message[language] ?? message[LANGUAGE] ?? Object.values(message)[0];
}

/**
 * Describes the form of a field's values, as the end of a sentence that begins with the name of the field: `must …`.
 */
export function patternText(field: FieldModel): string | undefined {
  const own = messageOf(field);
  if (field.pattern === undefined || own !== undefined) return own;
  const words = patternWords(field.pattern);
  if (words === undefined) return t("entry.patternOther", { pattern: field.pattern });
  const { parts, least, most } = words;
  const only = t("entry.patternOnly", { parts: listOfAll(parts.map((part) => t(`pattern.${part}`))) });
  if (most === undefined) return only;
  return `${only}, ${most === least ? t("entry.patternLength", { count: most }) : t("entry.patternBetween", { min: least, max: most })}`;
}

/** Turns the end of a sentence into a sentence. */
const sentence = (text: string): string =>
  `${text.slice(0, 1).toLocaleUpperCase(LANGUAGE)}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** Returns a hint about the values that a field accepts. */
export function hintOf(field: FieldModel): string | undefined {
  const { description, unique } = field;
  const form = field.pattern === undefined ? undefined : patternText(field);
  const rules = [
    limitsOf(field),
    form === undefined ? undefined : sentence(form),
    unique === true ? t("entry.unique") : undefined,
  ].filter((rule) => rule !== undefined);
  const each = field.list === true && rules.length > 0 ? [t("entry.each")] : [];
  return [description, ...each, ...rules].filter((part) => part !== undefined).join(" ") || undefined;
}

interface Window {
  validFrom: string | null;
  validTo: string | null;
}

/**
 * Describes when an entry would be visible if it were published now.
 * @param isLive whether readers currently see a version of the entry
 * @param isPublished whether the entry's `validFrom` and `validTo` are already published
 */
export function windowWords(
  { validFrom, validTo }: Window,
  { now, isLive, isPublished }: { now: Date; isLive: boolean; isPublished: boolean },
): { text: string; wrong: boolean } {
  const [from, to] = [validFrom, validTo].map((at) => (at === null ? undefined : new Date(at)));
  const times = {
    from: validFrom === null ? "" : exactTime(validFrom),
    to: validTo === null ? "" : exactTime(validTo),
  };
  if (from !== undefined && to !== undefined && from >= to)
    return { text: t("entry.windowOrder"), wrong: true };
  if (to !== undefined && to <= now) return { text: t("entry.windowClosed"), wrong: true };
  const later = from !== undefined && from > now;
  const whenPublished = later
    ? t(isLive ? "entry.opensAndHides" : "entry.opens", times)
    : t("entry.opensNow");
  const opens = isPublished ? (later ? t("entry.opensThen", times) : "") : whenPublished;
  return {
    text: [opens, to === undefined ? t("entry.staysOn") : t("entry.closes", times)].join(" ").trim(),
    wrong: false,
  };
}

/** Describes what visitors currently see of an entry. */
export function stateWords({ status, publishedRevision }: EntryItem, window: Window, now: Date): string {
  if (status !== "PUBLISHED") return t(`entry.now${status}`);
  const { validFrom, validTo } = window;
  if (publishedRevision !== null && validFrom !== null && new Date(validFrom) > now)
    return t("entry.nowWaiting", { from: exactTime(validFrom) });
  if (publishedRevision !== null && validTo !== null && new Date(validTo) <= now)
    return t("entry.nowEnded", { to: exactTime(validTo) });
  return t("entry.nowPUBLISHED");
}
