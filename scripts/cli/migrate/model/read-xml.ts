/** Reads files of XML that other systems have written, within limits. Does not expand entities of the file's own. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Parser } from "htmlparser2";
import { decodeUtf8 } from "../../../../shared/rows/utf8.ts";
import { CommandError } from "../../command/context.ts";

export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  /** The text of the element itself. */
  text: string;
  children: XmlElement[];
}

const MAX_DEPTH = 64;
/** Maximum characters of the text that is kept. */
const MAX_TEXT = 512 * 1024 * 1024;

/**
 * Yields the elements inside the elements of a certain name, such as those of `channel`.
 * @throws CommandError if the file is missing, is not XML, or declares entities
 */
export async function* readXml(path: string, inside: string): AsyncGenerator<XmlElement> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw new CommandError(`${path} is not a file. Name the file of the export.`);
  const reader = new XmlReader(path, inside);
  for await (const part of decodeUtf8(createReadStream(path))) yield* reader.add(part);
  yield* reader.end();
}

class XmlReader {
  readonly #path: string;
  readonly #inside: string;
  readonly #parser: Parser;
  readonly #open: XmlElement[] = [];
  #ready: XmlElement[] = [];
  #texts: string[][] = [];
  #length = 0;
  #isFound = false;

  constructor(path: string, inside: string) {
    this.#path = path;
    this.#inside = inside;
    this.#parser = new Parser(
      {
        onopentag: (name, attributes) => this.#begin(name, attributes),
        ontext: (text) => this.#text(text),
        onclosetag: () => this.#close(),
        onprocessinginstruction: (name, data) => {
          if (name.toLowerCase() === "!doctype" && /\[|ENTITY/i.test(data)) this.#refuse("declares entities");
        },
      },
      { xmlMode: true, decodeEntities: true },
    );
  }

  #refuse(what: string): never {
    throw new CommandError(`${this.#path} ${what}. Nothing was read.`);
  }

  *add(part: string): Generator<XmlElement> {
    this.#parser.write(part);
    yield* this.#take();
  }

  *end(): Generator<XmlElement> {
    if (this.#open.length > 0) this.#refuse(`ends inside the element ${this.#open.at(-1)?.name}`);
    this.#parser.end();
    if (!this.#isFound) this.#refuse(`has no element ${this.#inside}`);
    yield* this.#take();
  }

  #take(): XmlElement[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  #begin(name: string, attributes: Readonly<Record<string, string>>): void {
    if (this.#open.length >= MAX_DEPTH) this.#refuse(`nests elements deeper than ${MAX_DEPTH} levels`);
    if (name === this.#inside) this.#isFound = true;
    this.#open.push({ name, attributes, text: "", children: [] });
    this.#texts.push([]);
  }

  #text(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_TEXT) this.#refuse("has more than 512 MiB of text");
    this.#texts.at(-1)?.push(text);
  }

  #close(): void {
    const element = this.#open.pop();
    if (element === undefined) return;
    element.text = this.#texts.pop()?.join("") ?? "";
    const around = this.#open.at(-1);
    if (around === undefined) return;
    if (around.name === this.#inside) this.#ready.push(element);
    else around.children.push(element);
  }
}

/** Returns the text of the first child with a name; an empty text if there is none. */
export function textOf(element: XmlElement | undefined, name: string): string {
  return element?.children.find((child) => child.name === name)?.text ?? "";
}

export const childrenOf = (element: XmlElement, name: string): XmlElement[] =>
  element.children.filter((child) => child.name === name);
