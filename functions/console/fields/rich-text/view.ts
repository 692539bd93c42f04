/** The editor itself: a view of a document, which follows the value of the form. */

import { type MutableRef, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { closeHistory, history } from "prosemirror-history";
import { keymap } from "prosemirror-keymap";
import { type Command, EditorState } from "prosemirror-state";
import { EditorView } from "prosemirror-view";
import type { InputProps } from "../parts/kind.ts";
import { Card, type CardHooks } from "./card.tsx";
import { type ClipboardHooks, clipboardEvents } from "./clipboard.ts";
import { keysOf } from "./commands.ts";
import { docOf, portableOf } from "./convert.ts";
import { adoption, uniqueKeys } from "./keys.ts";
import { numbers } from "./numbers.ts";
import { markdownRules } from "./rules.ts";
import { type Formats, formatsOf, schemaFor } from "./schema.ts";

/** Marks transactions that take over a value from the form, so that they do not change the form. */
const OUTSIDE = "outside";

export interface Hooks {
  clipboard: MutableRef<ClipboardHooks>;
  cards: MutableRef<CardHooks>;
  onLink: () => void;
  /** Called when the keyboard leaves the text for the toolbar. */
  onTools: () => void;
  /** Attributes of the element with the text. */
  attributes: () => Record<string, string>;
  /** The dialog of a block that is open. The user can take back, at once, all changes made in it. */
  edit: string | undefined;
}

export interface Editing {
  formats: Formats;
  /** Pass it to the element that contains the text. */
  root: MutableRef<HTMLDivElement | null>;
  state: EditorState | undefined;
  /** A position in the document, which moves with the text around it. */
  mark: MutableRef<number | undefined>;
  run: (command: Command) => void;
  focus: () => void;
}

/** What an effect needs to create a view. Its members read the newest properties. */
interface Parts {
  formats: Formats;
  newest: MutableRef<InputProps>;
  hooks: MutableRef<Hooks>;
  all: Set<Card>;
  onState: (view: EditorView, state: EditorState, isOutside: boolean, isChanged: boolean) => void;
  onStep: (map: (pos: number) => number) => void;
}

function viewIn(root: HTMLElement, { formats, newest, hooks, all, onState, onStep }: Parts): EditorView {
  const schema = schemaFor(formats);
  const keys = keysOf(formats, () => hooks.current.onLink());
  const tools: Command = () => {
    hooks.current.onTools();
    return true;
  };
  const view = new EditorView(root, {
    state: EditorState.create({
      doc: docOf(schema, newest.current.value),
      plugins: [
        markdownRules(formats),
        keymap({ ...keys, "Alt-F10": tools }),
        history(),
        uniqueKeys,
        numbers,
      ],
    }),
    // The browser tells a new selection only after the next key. A shortcut needs it at once.
    handleKeyDown: ({ dom }, { ctrlKey, metaKey, altKey }) => {
      if (ctrlKey || metaKey || altKey) dom.ownerDocument.dispatchEvent(new Event("selectionchange"));
      return false;
    },
    editable: () => newest.current.disabled !== true,
    attributes: () => hooks.current.attributes(),
    handleDOMEvents: {
      ...clipboardEvents(hooks.current.clipboard),
      // Browsers begin at the start of the text, until the editor tells them its selection.
      focus: (editor) => {
        editor.focus();
        return false;
      },
    },
    nodeViews: {
      object: (node, _, getPos) => new Card(node, getPos, hooks.current.cards, all),
    },
    dispatchTransaction(tr) {
      const state = view.state.apply(tr);
      view.updateState(state);
      if (tr.docChanged) onStep((pos) => tr.mapping.map(pos));
      onState(view, state, tr.getMeta(OUTSIDE) === true, tr.docChanged);
    },
  });
  return view;
}

/** Creates the editor in an element, and keeps it and the value of the form the same. */
export function useEditing(props: InputProps, hooks: Hooks): Editing {
  const { field, value } = props;
  const allowed = JSON.stringify(formatsOf(field));
  // A reload of the definition gives other objects with the same content.
  const formats = useMemo(() => formatsOf(field), [allowed]);
  const root = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>();
  const newest = useRef(props);
  newest.current = props;
  const newestHooks = useRef(hooks);
  newestHooks.current = hooks;
  const mark = useRef<number>();
  const all = useRef(new Set<Card>());
  /** The value that the document has. */
  const own = useRef(value);
  const [state, setState] = useState<EditorState>();
  useLayoutEffect(() => {
    if (root.current === null) return undefined;
    own.current = newest.current.value;
    const made = viewIn(root.current, {
      ...{ formats, newest, hooks: newestHooks, all: all.current },
      onState: (from, next, isOutside, isChanged) => {
        setState(next);
        if (isOutside || !isChanged) return;
        own.current = portableOf(from.state.doc);
        newest.current.onChange(own.current);
      },
      onStep: (map) => {
        if (mark.current !== undefined) mark.current = map(mark.current);
      },
    });
    view.current = made;
    setState(made.state);
    // Browsers focus only inputs when their label is clicked.
    const label = document.getElementById(made.dom.getAttribute("aria-labelledby") ?? "");
    const focus = () => made.focus();
    label?.addEventListener("click", focus);
    return () => {
      label?.removeEventListener("click", focus);
      made.destroy();
    };
  }, [formats]);
  useLayoutEffect(() => {
    const editor = view.current;
    editor?.dispatch(closeHistory(editor.state.tr));
  }, [hooks.edit]);
  // Before the next event, because it may change a document that lacks this value.
  useLayoutEffect(() => {
    const editor = view.current;
    if (editor === undefined || value === own.current) return;
    own.current = value;
    const tr = adoption(editor.state, value);
    const { edit } = newestHooks.current;
    // The history of the editor joins transactions of one composition.
    if (edit !== undefined) tr?.setMeta("addToHistory", true).setMeta("composition", edit);
    if (tr !== undefined) editor.dispatch(tr.setMeta(OUTSIDE, true));
  }, [value]);
  const shown = JSON.stringify([hooks.attributes(), props.disabled]);
  useEffect(() => {
    view.current?.setProps({});
  }, [shown]);
  useEffect(() => {
    for (const card of all.current) card.draw();
  });
  return {
    ...{ formats, root, state, mark },
    run: (command) => {
      const editor = view.current;
      if (editor !== undefined) command(editor.state, editor.dispatch, editor);
    },
    focus: () => view.current?.focus(),
  };
}
