/** What the page of a site gets of a form: the values that visitors of the page would read. */
import { addressFlaw } from "../../../../shared/definition/types/index.ts";
import { isObject } from "../../../../shared/kernel/json.ts";
import type { Block } from "../../../../shared/rich/model.ts";
import { toHtml } from "../../../../shared/rich/to-html.ts";
import type { PreviewEntry } from "../../../../shared/site/messages.ts";
import { type Content, isEmpty } from "../../model/cells.ts";
import { type FieldModel, type OrbModel, shapesOf } from "../../model/orb.ts";

export interface PageView {
  orb: OrbModel;
  /** The language and market of the page. */
  language: string | undefined;
  market: string | undefined;
}

/** Returns whether visitors may read a field. The page of a site must not show others, not even in a preview. */
const isShown = ({ access, sensitive }: FieldModel): boolean =>
  sensitive !== true && (access?.read === undefined || access.read.includes("public"));

/** Returns the value of a field in the language and market of the page, or else in the default ones. */
function chosen(field: FieldModel, value: unknown, { orb, language, market }: PageView): unknown {
  const pick = (map: unknown, keys: readonly (string | undefined)[]): unknown =>
    isObject(map) ? (keys.map((key) => map[key ?? ""]).find((one) => !isEmpty(one)) ?? null) : (map ?? null);
  const ofMarket = field.marketSpecific === true ? pick(value, [market, orb.markets[0]]) : value;
  return field.translatable === true ? pick(ofMarket, [language, orb.languages[0]]) : ofMarket;
}

function shownValue(field: FieldModel, value: unknown, view: PageView): unknown {
  const whole = chosen(field, value, view);
  const shapes = shapesOf(field, view.orb);
  if (shapes.length === 0) return whole;
  const object = (item: unknown): unknown => {
    if (!isObject(item)) return item;
    const shape = field.type === "object" ? shapes[0] : shapes.find((one) => one.component === item._type);
    return shape === undefined ? item : { ...item, ...membersOf(shape.fields, item, view) };
  };
  return Array.isArray(whole) ? whole.map(object) : object(whole);
}

/** Returns the values of fields. Those that visitors may not read are undefined, which messages do not contain. */
function membersOf(fields: readonly FieldModel[], item: Readonly<Record<string, unknown>>, view: PageView) {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      isShown(field) ? shownValue(field, item[field.name] ?? null, view) : undefined,
    ]),
  );
}

const rendered = new WeakMap<object, string>();

/** Renders rich text. Blocks that the user has not changed are the same list, and need no new rendering. */
function htmlOf(blocks: unknown): string {
  if (!Array.isArray(blocks)) return "";
  const known = rendered.get(blocks);
  if (known !== undefined) return known;
  const html = toHtml(blocks as readonly Block[], { addressFlaw });
  rendered.set(blocks, html);
  return html;
}

/** Returns an entry as the page gets it. */
export function pageEntry({ values }: Content, fields: readonly FieldModel[], view: PageView): PreviewEntry {
  const shown = membersOf(fields, values, view);
  const texts = fields.filter((field) => field.type === "richText" && isShown(field));
  return {
    // The message has only what JSON has, so that no value of the form can have another meaning in the page.
    values: JSON.parse(JSON.stringify(shown)) as PreviewEntry["values"],
    html: Object.fromEntries(
      texts.map((field) => [field.name, htmlOf(chosen(field, values[field.name] ?? null, view))]),
    ),
  };
}
