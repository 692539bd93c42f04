/** The unsaved changes of a form on the server: keeps them, and offers those of other windows and devices. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Changed, Part, Unsaved } from "../../../api/editing.ts";
import type { EntryItem, EntryPlace } from "../../../api/entries.ts";
import { type Cell, type Content, differing } from "../../../model/cells.ts";
import { labelOf, type SchemaModel } from "../../../model/orb.ts";
import { contentOf, type Draft } from "./draft.ts";
import { Keeper, type KeeperState } from "./keeper.ts";
import { keepRemote, keptDraft } from "./kept.ts";

export interface Offer {
  kept: Unsaved;
  /** What the form would show. */
  content: Content;
  /** Shows it in the form. */
  take: () => void;
  /** Erases it. */
  drop: () => void;
}

export interface Unsaving extends Pick<KeeperState, "standing"> {
  offers: readonly Offer[];
  /** Labels of the changed fields whose values are not kept, because they are sensitive. */
  left: readonly string[];
  /** Erases the changes of this form, which the user has decided to discard. */
  forget: () => void;
}

/** Returns the content with the parts that a form has changed. */
function withPart(content: Content, { values, ...window }: Part): Content {
  return { ...content, ...window, values: { ...content.values, ...values } };
}

/** Returns the part of the content that consists of some cells, without sensitive fields. */
function partOf(content: Content, changed: readonly Cell[], secret: ReadonlySet<string>): Part {
  const part: Content & { values: Record<string, unknown> } = { ...contentOf(content), values: {} };
  const names = new Set(changed.map(({ way }) => (way[0] === "values" ? way[1] : undefined)));
  for (const name of names)
    if (name !== undefined && !secret.has(name)) part.values[name] = content.values[name] ?? null;
  const has = (window: string) => changed.some(({ way }) => way[0] === window);
  return {
    values: part.values,
    ...(has("validFrom") ? { validFrom: part.validFrom } : {}),
    ...(has("validTo") ? { validTo: part.validTo } : {}),
  };
}

const secretsOf = ({ fields }: SchemaModel): ReadonlySet<string> =>
  new Set(fields.filter(({ sensitive }) => sensitive).map(({ name }) => name));

/** Returns what a form has changed; undefined if there is nothing to keep. */
function changedOf({ base, content, changed }: Draft, secret: ReadonlySet<string>): Changed | undefined {
  const draft = partOf(content, changed, secret);
  if (Object.keys(draft).length === 1 && Object.keys(draft.values).length === 0) return undefined;
  const before = partOf(base.content, changed, secret);
  if (base.revision !== 0) return { revision: base.revision, base: before, draft };
  // A copy of an entry begins with values. The form that goes on from this may begin without them.
  const { values, validFrom, validTo } = content;
  const begun = Object.entries({ ...values, ...draft.values }).filter(
    ([name, value]) => name in draft.values || (value !== null && value !== undefined && !secret.has(name)),
  );
  const window = { ...(validFrom === null ? {} : { validFrom }), ...(validTo === null ? {} : { validTo }) };
  return { revision: 0, base: before, draft: { ...window, ...draft, values: Object.fromEntries(begun) } };
}

interface UnsavedInput {
  place: EntryPlace;
  /** The entry as it is stored; undefined for a new one. */
  entry: EntryItem | undefined;
  /** Content of a new entry. */
  start: Content;
  draft: Draft;
  cells: readonly Cell[];
  schema: SchemaModel;
  /** Key under which the tab stores the unsaved changes. */
  key: string;
  /** Whether the form cannot be changed. */
  isReadOnly: boolean;
}

const newFormId = () => `new-${crypto.randomUUID().replaceAll("-", "")}`;

export function useUnsaved(input: UnsavedInput): Unsaving {
  const { place, entry, start, draft, cells, schema, key, isReadOnly } = input;
  const [{ offers, standing }, show] = useState<KeeperState>({ offers: [], standing: "none" });
  const secret = useMemo(() => secretsOf(schema), [schema]);
  const stored = entry === undefined ? start : contentOf(entry);
  const newest = useRef({ stored, cells });
  newest.current = { stored, cells };
  const keeper = useRef<Keeper>();
  const isOn = !isReadOnly;
  // Before the effect below, which needs the keeper.
  useLayoutEffect(() => {
    if (!isOn) return undefined;
    draft.remote.current ??= { id: entry?.id ?? newFormId(), version: undefined };
    const own = new Keeper({
      ...{ place, show, entry: entry?.id, remote: draft.remote.current },
      remember(remote) {
        draft.remote.current = remote;
        keepRemote(key, remote);
      },
      differs(kept) {
        // What forms of new entries have kept belongs to no stored entry, so nobody has saved it.
        if (entry === undefined) return true;
        const now = newest.current;
        return differing(now.cells, now.stored, withPart(now.stored, kept.draft)).length > 0;
      },
    });
    keeper.current = own;
    own.begin();
    const onHide = () => {
      if (document.visibilityState === "hidden") own.flush();
    };
    document.addEventListener("visibilitychange", onHide);
    return () => {
      document.removeEventListener("visibilitychange", onHide);
      // A save, and the decision to leave without one, have erased the copy of the tab.
      own.end(keptDraft(key) === undefined);
      keeper.current = undefined;
    };
  }, [isOn, key]);
  const changed = useMemo(() => changedOf(draft, secret), [draft.base, draft.content, draft.changed, secret]);
  useLayoutEffect(() => keeper.current?.change(changed), [changed]);
  const left = new Set(draft.changed.map(({ field }) => field).filter(({ name }) => secret.has(name)));
  return {
    standing,
    left: [...left].map(labelOf),
    // At once, because the page may be closed next: a sign-out loads another one.
    forget: () => keeper.current?.change(undefined),
    offers: offers.map((kept) => {
      const base = withPart(stored, kept.base);
      const content = withPart(base, kept.draft);
      return {
        ...{ kept, content },
        take: () => {
          keeper.current?.take(kept);
          draft.begin({ revision: kept.revision, content: base }, content);
        },
        drop: () => keeper.current?.drop(kept),
      };
    }),
  };
}
