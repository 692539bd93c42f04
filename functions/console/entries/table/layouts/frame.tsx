/** Shows a list in another layout than the table. The browser loads it when it is first chosen. */
import type { EntryItem, EntryPlace } from "../../../api/entries.ts";
import type { FieldModel, Scalar } from "../../../model/orb.ts";
import type { Layout } from "../data/layout.ts";
import { Board } from "./board.tsx";
import { Calendar } from "./calendar.tsx";
import type { LayoutProps } from "./card.tsx";
import { Cards } from "./cards.tsx";
import { Tree } from "./tree.tsx";

export interface FrameProps extends LayoutProps {
  layout: Layout;
  place: EntryPlace;
  conditions: URLSearchParams;
  /** Incremented when the entries are to be read again. */
  version: number;
  /** Returns whether the caller may change a field of an entry. */
  mayChange: (item: EntryItem, field: FieldModel) => boolean;
  /** Shows the entries with a value of a field in the table. */
  onAll: (name: string, value: Scalar | undefined) => void;
}

export function LayoutFrame({ layout, mayChange, version, onAll, ...props }: FrameProps) {
  const { kind, field } = layout;
  // Another list begins anew.
  const key = `${props.conditions} ${version}`;
  if (kind === "cards") return <Cards key={key} {...props} />;
  if (kind === "calendar") return <Calendar key={field.name} {...{ field, ...props }} />;
  if (kind === "tree") return <Tree key={`${key} ${field.name}`} {...{ field, mayChange, ...props }} />;
  return <Board {...{ field, mayChange, ...props }} onAll={(value) => onAll(field.name, value)} />;
}
