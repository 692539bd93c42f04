/** Builds Portable Text of the nodes of editors. Keys are the same in each run. */
import type { Linked, Loss } from "../model/source.ts";
import { isSafe } from "./links.ts";

/** The platform allows lists of at most this many levels. */
const MAX_LEVEL = 10;

export type Tell = (loss: Pick<Loss, "why" | "became">) => void;

export interface Span {
  text: string;
  marks: readonly string[];
  /** The target of a link: an address, or an entry. */
  link?: string | Linked | undefined;
}

export interface Place {
  style: string;
  listItem?: "bullet" | "number";
  level?: number;
}

export class PortableText {
  readonly #tell: Tell;
  readonly #blocks: Record<string, unknown>[] = [];

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  get blocks(): Record<string, unknown>[] {
    return [...this.#blocks];
  }

  /** Adds a paragraph. */
  text({ style, listItem, level = 1 }: Place, spans: readonly Span[]): void {
    const key = this.#key();
    const markDefs: Record<string, unknown>[] = [];
    const given = spans.length === 0 ? [{ text: "", marks: [] }] : spans;
    const children = given.map(({ text, marks, link }: Span, at) => {
      const target = this.#target(link);
      const name = `${key}l${markDefs.length}`;
      if (target !== undefined) markDefs.push({ _type: "link", _key: name, ...target });
      const all = target === undefined ? [...marks] : [...marks, name];
      return { _type: "span", _key: `${key}s${at}`, text, marks: all };
    });
    if (listItem !== undefined && level > MAX_LEVEL)
      this.#tell({ why: `lists nest at most ${MAX_LEVEL} levels`, became: `items of level ${MAX_LEVEL}` });
    this.#blocks.push({
      ...{ _type: "block", _key: key, style },
      ...(listItem === undefined ? {} : { listItem, level: Math.min(level, MAX_LEVEL) }),
      ...{ children, markDefs },
    });
  }

  /** Adds a block of a component. */
  block(type: string, values: Readonly<Record<string, unknown>>): void {
    this.#blocks.push({ _type: type, _key: this.#key(), ...values });
  }

  #target(link: string | Linked | undefined): Record<string, unknown> | undefined {
    if (link === undefined) return undefined;
    if (typeof link !== "string") return { reference: link };
    if (isSafe(link)) return { href: link };
    this.#tell({ why: `a link to ${link.slice(0, 100)} is not allowed`, became: "the text of the link" });
    return undefined;
  }

  #key(): string {
    return `b${this.#blocks.length}`;
  }
}
