/** Copies and pastes rich text: between entries as it is, and from and to all other programs as HTML or plain text. */
import { Fragment, type Schema, Slice } from "prosemirror-model";
import { Selection } from "prosemirror-state";
import type { EditorView } from "prosemirror-view";
import { addressFlaw, LINK } from "../../../../shared/definition/types/index.ts";
import { type Block, isTextBlock } from "../../../../shared/rich/model.ts";
import { toHtml } from "../../../../shared/rich/to-html.ts";
import { toText } from "../../../../shared/rich/to-text.ts";
import { t } from "../../texts/t.ts";
import { setLink } from "./commands.ts";
import { type Item, itemKey, itemOf, nodeOf, referenceTo } from "./convert.ts";
import { fitTo } from "./fit.ts";
import { readHtml } from "./html.ts";
import type { Formats } from "./schema.ts";

/** Type of rich text on the clipboard. Other programs ignore it. */
const OWN = "application/x-portable-text+json";

export interface ClipboardHooks {
  formats: Formats;
  /** Tells what the field does not allow; each text continues a sentence that begins with "The pasted text". */
  onWarnings: (warnings: readonly string[]) => void;
  /** Takes files. @param at the position in the document */
  onFiles: (files: readonly File[], at: number) => void;
}

/** Puts the selection on the clipboard. */
function write(view: EditorView, event: ClipboardEvent, isCut: boolean): boolean {
  const { selection } = view.state;
  const { clipboardData: clipboard } = event;
  if (selection.empty || clipboard === null) return false;
  const { content, openStart, openEnd } = selection.content();
  const items = content.content.map(itemOf);
  const blocks = items as unknown as Block[];
  event.preventDefault();
  clipboard.setData(OWN, JSON.stringify({ items, openStart, openEnd }));
  clipboard.setData("text/html", toHtml(blocks, { addressFlaw }));
  clipboard.setData("text/plain", toText(blocks));
  if (isCut && view.editable) view.dispatch(view.state.tr.deleteSelection().scrollIntoView());
  return true;
}

/** A piece of a document, and what is missing in it. */
interface Piece {
  slice: Slice;
  warnings: readonly string[];
}

function sliceOf(schema: Schema, items: readonly Item[], [start, end] = [true, true]): Slice {
  const nodes = items.map((item) => nodeOf(schema, item));
  const isOpen = (at: number) => nodes.at(at)?.type.name === "block";
  return new Slice(Fragment.fromArray(nodes), start && isOpen(0) ? 1 : 0, end && isOpen(-1) ? 1 : 0);
}

function ownPiece(schema: Schema, json: string, formats: Formats): Piece | undefined {
  try {
    const { items, openStart, openEnd }: { items: unknown[]; openStart: unknown; openEnd: unknown } =
      JSON.parse(json);
    const { items: fitted, missing } = fitTo(items, formats);
    const warnings = missing.map((name) => t("rich.notAllowed", { name }));
    return { slice: sliceOf(schema, fitted, [openStart === 1, openEnd === 1]), warnings };
  } catch {
    return undefined;
  }
}

/** Returns converted blocks whose links have keys of their own, and the paths that the platform gives them. */
function keyed(blocks: readonly Block[]): Item[] {
  return blocks.map((block) => {
    if (!isTextBlock(block)) return { ...block };
    const keys = new Map(block.markDefs.map(({ _key }) => [_key, itemKey()]));
    const markDefs = block.markDefs.map(({ reference, ...def }) => ({
      ...def,
      _key: keys.get(def._key),
      ...(reference === undefined ? {} : { reference: referenceTo(reference) }),
    }));
    const children = block.children.map((span) => ({
      ...span,
      marks: span.marks.map((mark) => keys.get(mark) ?? mark),
    }));
    return { ...block, children, markDefs };
  });
}

/** Returns the lines of plain text as paragraphs; in a block of code, as one block. */
function textPiece(schema: Schema, text: string, isCode: boolean): Piece {
  const lines = isCode
    ? [text.replaceAll(/\r\n?/g, "\n")]
    : text.split(/[\r\n]+/).filter((line) => line !== "");
  const items = lines.map((line) => ({
    _type: "block",
    children: [{ _type: "span", text: line, marks: [] }],
    markDefs: [],
  }));
  return { slice: sliceOf(schema, items), warnings: [] };
}

/** Returns the piece of a document in a transfer: from this console, as HTML, or as plain text. */
function pieceOf(view: EditorView, transfer: DataTransfer, formats: Formats): Piece | undefined {
  const { schema, selection } = view.state;
  const isCode = selection.$from.parent.attrs.style === "code";
  const text = transfer.getData("text/plain");
  const own = isCode ? "" : transfer.getData(OWN);
  const html = isCode ? "" : transfer.getData("text/html");
  const found = own === "" ? undefined : ownPiece(schema, own, formats);
  if (found !== undefined) return found;
  if (html !== "")
    try {
      const { blocks, warnings } = readHtml(html, formats);
      if (blocks.length > 0 || text === "") return { slice: sliceOf(schema, keyed(blocks)), warnings };
    } catch {
      return { ...textPiece(schema, text, isCode), warnings: [t("rich.tooMuch")] };
    }
  return text === "" ? undefined : textPiece(schema, text, isCode);
}

/** Links the selected text, if a pasted text is an address. */
function pasteLink(view: EditorView, transfer: DataTransfer): boolean {
  const address = transfer.getData("text/plain").trim();
  const isOne = /^(https?:\/\/|mailto:)\S+$/.test(address) && addressFlaw(address) === undefined;
  const { selection, doc } = view.state;
  if (!isOne || selection.empty || doc.textBetween(selection.from, selection.to).trim() === "") return false;
  return setLink({ _type: LINK, _key: itemKey(), href: address }, "")(view.state, view.dispatch);
}

function insert(view: EditorView, transfer: DataTransfer, { formats, onWarnings }: ClipboardHooks): void {
  const piece = pieceOf(view, transfer, formats);
  if (piece === undefined) return;
  onWarnings(piece.warnings);
  if (piece.slice.size === 0) return;
  view.dispatch(view.state.tr.replaceSelection(piece.slice).scrollIntoView().setMeta("paste", true));
}

/** Returns the handlers of the events with which people copy, paste and drop. They read the newest hooks. */
export function clipboardEvents(hooks: { current: ClipboardHooks }) {
  const filesIn = (transfer: DataTransfer | null) => [...(transfer?.files ?? [])];
  return {
    copy: (view: EditorView, event: ClipboardEvent) => write(view, event, false),
    cut: (view: EditorView, event: ClipboardEvent) => write(view, event, true),
    paste(view: EditorView, event: ClipboardEvent): boolean {
      const { clipboardData: clipboard } = event;
      if (clipboard === null || !view.editable) return false;
      event.preventDefault();
      const files = filesIn(clipboard);
      // Programs such as spreadsheets also give a picture of the text.
      if (files.length > 0 && clipboard.getData("text/html") === "")
        hooks.current.onFiles(files, view.state.selection.from);
      else if (!pasteLink(view, clipboard)) insert(view, clipboard, hooks.current);
      return true;
    },
    drop(view: EditorView, event: DragEvent): boolean {
      const { dataTransfer: transfer } = event;
      if (transfer === null || !view.editable || view.dragging !== null) return false;
      event.preventDefault();
      const place = view.posAtCoords({ left: event.clientX, top: event.clientY });
      const files = filesIn(transfer);
      const at = place?.pos ?? view.state.selection.from;
      if (files.length > 0) hooks.current.onFiles(files, at);
      else {
        view.dispatch(view.state.tr.setSelection(Selection.near(view.state.doc.resolve(at))));
        insert(view, transfer, hooks.current);
      }
      view.focus();
      return true;
    },
  };
}
