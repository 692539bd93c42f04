/**
 * Converts values to cells of a table, and back.
 *
 * - An empty cell is no value: the entry gets the default of the field.
 * - Texts, dates and references are written as they are. An apostrophe before them has a meaning only where a cell
 *   would otherwise be misunderstood: alone it is an empty text, before `null` no value although the field has a
 *   default, and before a formula it keeps spreadsheets from running it.
 * - Decimal numbers are written without quotes, so that spreadsheets read them as numbers.
 * - All other values are JSON.
 */

import { type FieldTraits, isFieldType, traitsOf } from "../definition/types/index.ts";
import type { RowField } from "./columns.ts";
import { clipped } from "./fault.ts";
import { inexact, readJsonText } from "./json-text.ts";

/**
 * Characters with which spreadsheets begin formulas. Some read the full-width forms, or skip a line end before them.
 */
const FORMULA = "[=+\\-@\\t\\r\\n＝＋－＠]";
/** Texts that get an apostrophe in a cell: those that an apostrophe or its absence would change. */
const ESCAPED = new RegExp(`^(?:'*$|'+null$|'*${FORMULA})`, "u");
/** Cells with an apostrophe that does not belong to the text. */
const MARKED = new RegExp(`^'(?:'*$|'+null$|'*${FORMULA})`, "u");
/** No value, in a field whose default an empty cell would give the entry. */
const NULL = "'null";

const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/** How a cell contains a value. Lists, and values of a type that this version does not know, are JSON. */
const cellOf = ({ list, type }: RowField): FieldTraits["cell"] =>
  list !== true && isFieldType(type) ? traitsOf(type).cell : "json";
const isText = (field: RowField): boolean => cellOf(field) === "text";
export const hasDefault = (field: RowField): boolean => field.default !== undefined && field.default !== null;

/** Returns the cell of a value. Undefined and null are no value. */
export function toCell(field: RowField, value: unknown): string {
  if (value === undefined || value === null) {
    if (!hasDefault(field)) return "";
    return isText(field) ? NULL : "null";
  }
  if (cellOf(field) === "decimal" && typeof value === "string" && DECIMAL.test(value)) return value;
  if (!isText(field) || typeof value !== "string") return JSON.stringify(value);
  return ESCAPED.test(value) ? `'${value}` : value;
}

/** The JSON text of a cell. `none`: the cell is empty. A fault continues a sentence that begins with the column. */
export type CellContent = { json: string } | { none: true } | { fault: string };

/** Returns the JSON text of a cell's value. */
export function fromCell(field: RowField, cell: string): CellContent {
  if (cell === "") return { none: true };
  const marked = MARKED.test(cell);
  if (cell === NULL) return { json: "null" };
  const text = marked ? cell.slice(1) : cell;
  // An id begins with a digit, so this is a unique value of the entry, such as {"name":"Vermeer"}.
  if (field.type === "reference" && text.startsWith("{")) return fromJson(field, text);
  // The path or the address of a file. The command `orb` uploads the file before it sends the row.
  const namesFile = field.type === "file" && field.list !== true && !text.trimStart().startsWith("{");
  if (isText(field) || (namesFile && text.trim() !== "null")) return { json: JSON.stringify(text) };
  const plain = text.trim();
  if (plain === "") return { none: true };
  if (plain === "null") return { json: plain };
  switch (cellOf(field)) {
    case "flag":
      return fromBoolean(plain);
    case "number":
      return fromNumber(plain);
    case "decimal":
      return DECIMAL.test(plain) ? { json: JSON.stringify(plain) } : { fault: numberFault(plain) };
    default:
      return fromJson(field, plain);
  }
}

function fromBoolean(text: string): CellContent {
  // Spreadsheets write TRUE and FALSE.
  const word = text.toLowerCase();
  if (word === "true" || word === "false") return { json: word };
  return { fault: `must be true or false (is ${clipped(text)})` };
}

const numberFault = (text: string) =>
  `must be a number such as -1234.5, with a point and without separators (is ${clipped(text)})`;

function fromNumber(text: string): CellContent {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return { fault: numberFault(text) };
  const reason = inexact(text);
  return reason === undefined ? { json: text } : { fault: `cannot be stored exactly: ${reason}` };
}

function fromJson(field: RowField, text: string): CellContent {
  const read = readJsonText(text);
  const isList = field.list === true;
  const wanted = isList
    ? 'a JSON array such as ["red","blue"]'
    : field.type === "file"
      ? 'a JSON object such as {"file":"<id>"}, or the path or address of a file'
      : 'JSON; write a text as "text"';
  if (typeof read === "string") {
    return { fault: read.startsWith("cannot") ? read : `must be ${wanted} (is ${clipped(text)})` };
  }
  if (isList && read.kind !== "list") return { fault: `must be ${wanted} (is ${clipped(text)})` };
  // JSON allows line ends between its tokens only, so they can be replaced. A line of JSON Lines must not contain any.
  return { json: text.replace(/[\r\n]+/g, " ") };
}
