/** Shows a list in another layout than the table. The browser loads it when it is first chosen. */
import type { EntryPlace } from "../../../api/entries.ts";
import type { Scalar } from "../../../model/orb.ts";
import type { Layout } from "../data/layout.ts";
import { Board } from "./board.tsx";
import { Calendar } from "./calendar.tsx";
import type { LayoutProps } from "./card.tsx";
import { Cards } from "./cards.tsx";

export interface FrameProps extends LayoutProps {
  layout: Layout;
  place: EntryPlace;
  conditions: URLSearchParams;
  /** Whether the caller may change values. */
  changes: boolean;
  /** Shows the entries with a value of a field in the table. */
  onAll: (name: string, value: Scalar | undefined) => void;
}

export function LayoutFrame({ layout, changes, onAll, ...props }: FrameProps) {
  const { kind, field } = layout;
  // Another list begins anew.
  const key = String(props.conditions);
  if (kind === "cards") return <Cards key={key} {...props} />;
  if (kind === "calendar") return <Calendar key={field.name} {...{ field, ...props }} />;
  return <Board {...{ field, changes, ...props }} onAll={(value) => onAll(field.name, value)} />;
}
