/** An entry as a card: its image, its name and its state. */
import type { ComponentChildren } from "preact";
import type { EntryItem } from "../../../api/entries.ts";
import { Thumbnail } from "../../../files/thumbnail.tsx";
import type { OrbModel, SchemaModel } from "../../../model/orb.ts";
import { t } from "../../../texts/t.ts";
import { StateBadge } from "../../../ui/badge.tsx";
import { Link } from "../../../ui/link.tsx";
import { imageOf } from "../data/layout.ts";
import { nameOf } from "../data/names.ts";
import { shownValue, storedValue, type View } from "../data/view.ts";

/** What the layouts know of the list. */
export interface LayoutProps {
  schema: SchemaModel;
  orb: OrbModel;
  view: View;
  linkOf: (id: string) => string;
}

export function Card({
  item,
  schema,
  orb,
  view,
  linkOf,
  children,
}: LayoutProps & { item: EntryItem; children?: ComponentChildren }) {
  const image = imageOf(schema);
  const name = nameOf(item, schema, orb, view);
  return (
    <>
      {image === undefined ? null : (
        <div class="card-image" aria-hidden="true">
          <Thumbnail field={image} value={shownValue(image, storedValue(item, image), orb, view).value} />
        </div>
      )}
      <div class="card-text">
        <Link to={linkOf(item.id)} class="strong">
          <span dir="auto">{name === "" ? t("table.unnamed") : name}</span>
        </Link>
        <StateBadge of={item} />
        {children}
      </div>
    </>
  );
}
