/** Splits the text of a table (RFC 4180) into records. Reads any line end, and commas, semicolons or tabs. */
import { RowFault } from "./fault.ts";

export interface TableRecord {
  /** Number of the record's first line in the file. */
  line: number;
  cells: string[];
}

const LINE_ENDS = /\r\n|\n|\r/g;
const SEPARATORS = [",", ";", "\t"];
/** The first line of some files of spreadsheets, which names the separator. */
const DECLARED = /^"?sep=(.)"?$/;

/** Returns the first line of a text, without line ends in quotes. Undefined if the line may continue. */
function firstLine(text: string): string | undefined {
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') quoted = !quoted;
    else if (!quoted && (text[at] === "\n" || text[at] === "\r")) return text.slice(0, at);
  }
  return undefined;
}

/** Returns the separator that a line contains most often outside quotes. In some languages, spreadsheets write `;`. */
export function separatorOf(line: string): string {
  const plain = line.replace(/"[^"]*"/g, "");
  const count = (one: string) => plain.split(one).length;
  return SEPARATORS.reduce((best, one) => (count(one) > count(best) ? one : best));
}

/**
 * Yields the records of a table, the names of the columns first. Omits empty lines.
 * @param separator undefined to detect it
 * @throws RowFault `quote` if a quote is not closed
 */
export async function* readRecords(
  parts: AsyncIterable<string>,
  separator?: string,
): AsyncGenerator<TableRecord | RowFault, void> {
  let begin = "";
  let splitter = separator === undefined ? undefined : new Splitter(separator, 1);
  const begun = function* (line: string): Generator<TableRecord | RowFault> {
    const declared = DECLARED.exec(line)?.[1];
    splitter = new Splitter(declared ?? separatorOf(line), 1);
    const isDeclaration = declared !== undefined;
    // The line that names the separator counts as a line, but holds no cells.
    yield* splitter.take(begin, isDeclaration ? line.length : 0);
  };
  for await (const part of parts) {
    if (splitter !== undefined) {
      yield* splitter.take(part);
      continue;
    }
    begin += part;
    const line = firstLine(begin);
    if (line !== undefined) yield* begun(line);
  }
  if (splitter === undefined) yield* begun(begin);
  yield* (splitter as Splitter).end();
}

/** Splits text that arrives in parts. */
class Splitter {
  readonly #separator: string;
  readonly #unquoted: RegExp;
  #cells: string[] = [];
  #cell = "";
  /** Where in a cell the splitter is. `quote`: after a quote that may close the cell or be the first of two. */
  #state: "start" | "plain" | "quoted" | "quote" = "start";
  #fault: string | undefined;
  #line: number;
  #recordLine: number;
  #afterReturn = false;

  constructor(separator: string, line: number) {
    this.#separator = separator;
    this.#unquoted = new RegExp(`[${separator.replace(/[\\\]^-]/g, "\\$&")}\n\r]`, "g");
    this.#line = line;
    this.#recordLine = line;
  }

  *take(text: string, from = 0): Generator<TableRecord | RowFault> {
    let at = from;
    while (at < text.length) {
      if (this.#state === "quoted") {
        const end = text.indexOf('"', at);
        this.#cell += text.slice(at, end < 0 ? text.length : end);
        if (end < 0) return;
        this.#state = "quote";
        at = end + 1;
        continue;
      }
      const char = text[at] ?? "";
      if (this.#afterReturn) {
        this.#afterReturn = false;
        if (char === "\n") {
          at++;
          continue;
        }
      }
      if (char === '"' && this.#state === "start") {
        this.#state = "quoted";
        at++;
      } else if (char === '"' && this.#state === "quote") {
        this.#cell += '"';
        this.#state = "quoted";
        at++;
      } else if (char === this.#separator) {
        this.#endCell();
        at++;
      } else if (char === "\n" || char === "\r") {
        yield* this.#endRecord();
        this.#afterReturn = char === "\r";
        at++;
      } else {
        if (this.#state === "quote")
          this.#fault ??= `has text after the closing quote of cell ${this.#cells.length + 1}. Double the quotes inside a quoted cell.`;
        this.#state = "plain";
        this.#unquoted.lastIndex = at;
        const end = this.#unquoted.exec(text)?.index ?? text.length;
        this.#cell += text.slice(at, end);
        at = end;
      }
    }
  }

  *end(): Generator<TableRecord | RowFault> {
    if (this.#state === "quoted") {
      const opened = this.#line;
      const place = `cell ${this.#cells.length + 1}`;
      throw new RowFault(opened, "quote", `opens a quote in ${place} that is not closed. Close it.`);
    }
    if (this.#cells.length > 0 || this.#state !== "start") yield* this.#endRecord();
  }

  #endCell(): void {
    this.#line += this.#cell.match(LINE_ENDS)?.length ?? 0;
    this.#cells.push(this.#cell);
    this.#cell = "";
    this.#state = "start";
  }

  *#endRecord(): Generator<TableRecord | RowFault> {
    const isEmpty = this.#cells.length === 0 && this.#state === "start";
    this.#endCell();
    const cells = this.#cells;
    const line = this.#recordLine;
    const fault = this.#fault;
    this.#cells = [];
    this.#fault = undefined;
    this.#recordLine = ++this.#line;
    if (fault !== undefined) yield new RowFault(line, "text", fault);
    else if (!isEmpty) yield { line, cells };
  }
}
