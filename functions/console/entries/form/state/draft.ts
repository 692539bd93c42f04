/** The state of the form: the base revision, the user's edits, and the stored entry. */
import { type MutableRef, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { EntryItem } from "../../../api/entries.ts";
import { type Cell, type Content, differing, valueAt, withValue } from "../../../model/cells.ts";
import type { SchemaModel } from "../../../model/orb.ts";
import { forgetDraft, keepDraft, keptDraft, type Remote } from "./kept.ts";

export const contentOf = ({ values, validFrom, validTo }: Content): Content => ({
  values,
  validFrom,
  validTo,
});

/** The stored revision that the changes in the form are based on. */
export interface Base {
  /** 0 for a new entry. */
  revision: number;
  content: Content;
}

export interface Draft {
  base: Base;
  content: Content;
  /** Cells (values of the form) that differ from the base. */
  changed: readonly Cell[];
  /** Whether unsaved changes were restored after a reload. */
  restored: boolean;
  /** Where the server keeps the unsaved changes. The form sets it. */
  remote: MutableRef<Remote | undefined>;
  set: (cell: Cell, value: unknown) => void;
  /** Resets the form to a base, optionally with other content. */
  begin: (base: Base, content?: Content) => void;
  /** Makes a saved revision the new base. The form keeps what the user typed while the save was running. */
  stored: (entry: EntryItem, sent: Content) => void;
  /**
   * After a new entry was created, keeps what the user typed during the request. The form of the created entry then
   * shows these edits.
   */
  carry: (entry: Content & Pick<EntryItem, "revision">, sent: Content, key: string) => void;
}

const baseOf = (entry: EntryItem): Base => ({ revision: entry.revision, content: contentOf(entry) });

/** Returns the stored content, with what the user typed while the save was running. */
const withTyped = (cells: readonly Cell[], sent: Content, now: Content, stored: Content): Content =>
  differing(cells, sent, now).reduce(
    (to, cell) => withValue(to, cell, valueAt(now, cell)),
    contentOf(stored),
  );

/**
 * @param entry the stored entry; undefined for a new one
 * @param start the content of a new entry
 * @param key key under which the browser tab stores unsaved changes
 */
export function useDraft({
  entry,
  start,
  schema,
  cells,
  key,
}: {
  entry: EntryItem | undefined;
  start: Content;
  schema: SchemaModel;
  cells: readonly Cell[];
  key: string;
}): Draft {
  const remote = useRef<Remote>();
  const [state, setState] = useState(() => {
    const base = entry === undefined ? { revision: 0, content: start } : baseOf(entry);
    const kept = keptDraft(key);
    remote.current = kept?.remote;
    if (kept === undefined || differing(cells, kept.base, kept.draft).length === 0)
      return { base, content: base.content, restored: false };
    return { base: { revision: kept.revision, content: kept.base }, content: kept.draft, restored: true };
  });
  const { base, content } = state;
  const newest = useRef(content);
  newest.current = content;
  const changed = useMemo(() => differing(cells, base.content, content), [cells, base, content]);
  const isChanged = changed.length > 0;
  // Show a newer stored revision only if there are no unsaved changes.
  useLayoutEffect(() => {
    if (entry === undefined || entry.revision <= base.revision || isChanged) return;
    setState({ base: baseOf(entry), content: contentOf(entry), restored: false });
  }, [entry, isChanged]);
  useLayoutEffect(() => {
    if (!isChanged) {
      forgetDraft(key);
      return undefined;
    }
    const keep = () => {
      const { current } = remote;
      keepDraft(
        key,
        { base: base.content, revision: base.revision, draft: content, remote: current },
        schema,
      );
    };
    const timer = setTimeout(keep, 300);
    // Store the changes too if the user leaves or reloads the page before the timer fires.
    addEventListener("pagehide", keep);
    return () => {
      clearTimeout(timer);
      removeEventListener("pagehide", keep);
    };
  }, [content, base, isChanged, key]);
  return {
    base,
    content,
    changed,
    restored: state.restored && isChanged,
    remote,
    set: (cell, value) => setState((now) => ({ ...now, content: withValue(now.content, cell, value) })),
    stored: (next, sent) =>
      setState((now) => ({
        base: baseOf(next),
        content: withTyped(cells, sent, now.content, next),
        restored: false,
      })),
    carry: (next, sent, to) => {
      const kept = withTyped(cells, sent, newest.current, next);
      if (differing(cells, contentOf(next), kept).length > 0)
        keepDraft(to, { base: contentOf(next), revision: next.revision, draft: kept }, schema);
    },
    begin: (next, first = next.content) => setState({ base: next, content: first, restored: false }),
  };
}
