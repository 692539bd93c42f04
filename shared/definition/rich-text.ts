/**
 * The objects in the values of rich text, as Portable Text (https://github.com/portabletext/portabletext) specifies
 * them: blocks with spans of text, and links. They are described as fields, so that all code that walks, validates,
 * patches or describes objects treats them like the objects of a document.
 */
import { joinNames, type Report } from "../kernel/faults.ts";
import { isObject } from "../kernel/json.ts";
import { type FieldDefinition, keyOfRef, type ReferenceTarget, targetsOf } from "./document/index.ts";
import type { Json } from "./fields/index.ts";
import { addressFlaw, DEFAULT_FORMATS, entryPath, LINK, MAX_LEVEL, SPAN } from "./types/index.ts";

export { addressFlaw, BLOCK, entryPath, MAX_LEVEL } from "./types/index.ts";

const MAX_ADDRESS = 2_000;

/** What a field of rich text allows. */
export interface Allowed {
  styles: readonly string[];
  marks: readonly string[];
  lists: readonly string[];
  /** Schemas whose entries links may refer to. */
  links: readonly string[];
  components: readonly string[];
}

export function allowedIn({ styles, marks, lists, links, components }: FieldDefinition): Allowed {
  return {
    styles: styles ?? DEFAULT_FORMATS.styles,
    marks: marks ?? DEFAULT_FORMATS.marks,
    lists: lists ?? DEFAULT_FORMATS.lists,
    links: links ?? [],
    components: components ?? [],
  };
}

/** Rich text that a client writes as a text in a markup language. */
export type Markup = { markdown: string } | { html: string };

/** Returns whether a value is rich text in a markup language, which the platform converts. */
export function isMarkup({ type }: { type: { name: string } }, value: unknown): value is Markup {
  if (type.name !== "richText" || !isObject(value)) return false;
  const [name, ...more] = Object.keys(value);
  return more.length === 0 && (name === "markdown" || name === "html") && typeof value[name] === "string";
}

/** Completes a valid object of the platform, and checks what involves several of its members. */
export type Finish = (object: { [name: string]: Json }, report: Report) => void;

/** A field that the platform itself gives to objects. */
export interface PartDefinition extends FieldDefinition {
  /** The fields of the objects in the values, by the value of `kind`. */
  parts?: ReadonlyMap<string, readonly PartDefinition[]>;
  /** Name of the member that tells which of `parts` an object has. Default: `_type`. */
  kind?: string;
  finish?: ReadonlyMap<string, Finish>;
  /** Whether responses always have a value, which may be empty. */
  always?: true;
  /** Whether the field has the name of the rich text that contains it, for `expand` and lists of referrers. */
  isLink?: true;
}

/** Returns the name by which links know a schema. It stays the same if the schema's id is written in another case. */
export function linkKey(ref: string): string {
  return keyOfRef(ref) ?? ref;
}

/** Returns the fields of the text blocks in a field of rich text. */
export function blockParts(definition: FieldDefinition): readonly PartDefinition[] {
  const { styles, lists, links } = allowedIn(definition);
  const [style = ""] = styles;
  const span: PartDefinition[] = [
    { name: "text", type: "text", always: true },
    { name: "marks", type: "string", list: true, default: [], always: true },
  ];
  return [
    { name: "style", type: "string", enum: [...styles], default: style, always: true },
    ...(lists.length === 0
      ? []
      : ([
          { name: "listItem", type: "string", enum: [...lists] },
          { name: "level", type: "integer", min: 1, max: MAX_LEVEL },
        ] satisfies PartDefinition[])),
    { name: "children", type: "blocks", parts: new Map([[SPAN, span]]), required: true, always: true },
    {
      name: "markDefs",
      type: "blocks",
      parts: new Map([[LINK, linkParts(links)]]),
      finish: new Map([[LINK, finishLink]]),
      default: [],
      always: true,
    },
  ];
}

function linkParts(links: readonly string[]): PartDefinition[] {
  const parts: PartDefinition[] = [
    { name: "href", type: "string", max: MAX_ADDRESS },
    { name: "title", type: "string" },
  ];
  if (links.length === 0) return parts;
  const targets = links.map((ref): [string, PartDefinition[]] => [
    linkKey(ref),
    [
      { name: "schema", type: "string", enum: [ref], required: true },
      { name: "id", type: "reference", ref, required: true, isLink: true },
      { name: "path", type: "string" },
    ],
  ]);
  const finish = new Map(links.map((ref) => [linkKey(ref), finishReference] as const));
  return [...parts, { name: "reference", type: "object", kind: "schema", parts: new Map(targets), finish }];
}

/** Returns the schemas that the reference of a link may name. Empty for all other fields. */
export function linkTargets({ kind, parts }: PartDefinition): ReferenceTarget[] {
  if (kind !== "schema") return [];
  return [...(parts?.values() ?? [])].flatMap((fields) => fields.flatMap(targetsOf));
}

const finishLink: Finish = (link, report) => {
  const { href, reference } = link;
  if ((href ?? null) === null && (reference ?? null) === null)
    report("required", "must have either href or reference");
  else if ((href ?? null) !== null && (reference ?? null) !== null)
    report("not_applicable", "must not be set together with href", "/reference");
  const flaw = typeof href === "string" ? addressFlaw(href) : undefined;
  if (flaw !== undefined) report("format", flaw, "/href");
};

/** The path of the entry is for clients that show the link. It follows from the other members. */
const finishReference: Finish = (reference) => {
  reference.path = entryPath(String(reference.schema), String(reference.id));
};

/** Returns how to complete the text blocks of a field. */
export function finishBlock(definition: FieldDefinition): Finish {
  const { styles, marks } = allowedIn(definition);
  return (block, report) => {
    block.style ??= styles[0] ?? "";
    block.markDefs ??= [];
    if ((block.listItem ?? null) !== null) block.level ??= 1;
    else if ((block.level ?? null) !== null)
      report("not_applicable", "must only be set together with listItem", "/level");
    if (!Array.isArray(block.children) || !Array.isArray(block.markDefs)) return;
    const keys = new Set(block.markDefs.map((link) => (isObject(link) ? link._key : undefined)));
    for (const [at, span] of block.children.entries()) {
      if (!isObject(span)) continue;
      if (typeof span.text !== "string")
        report("required", "must be a text, which may be empty", `/children/${at}/text`);
      if (!Array.isArray(span.marks)) {
        Object.assign(span, { marks: [] });
        continue;
      }
      for (const [index, mark] of span.marks.entries()) {
        const path = `/children/${at}/marks/${index}`;
        if (!marks.includes(String(mark)) && !keys.has(mark as Json))
          report("enum", `must be the _key of a link in markDefs, or one of: ${joinNames(marks)}`, path);
        else if (span.marks.indexOf(mark) < index) report("duplicate", "is listed twice", path);
      }
    }
  };
}
