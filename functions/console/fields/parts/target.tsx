/** The entries that references point to: their schema, and their names. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { readOne } from "../../api/batch.ts";
import { isPlatformAdmin, may } from "../../api/caller.ts";
import type { EntryItem, EntryPlace } from "../../api/entries.ts";
import { plainValue } from "../../model/cells.ts";
import {
  type FieldModel,
  isPolymorphic,
  refsOf,
  type SchemaModel,
  schemaOf,
  titleField,
} from "../../model/orb.ts";
import { changeIn } from "../../state/change.ts";
import { useLoad } from "../../state/load.ts";
import { useCaller, useOrb } from "../../state/session.ts";

export interface Target {
  place: EntryPlace;
  model: SchemaModel | undefined;
  /** Field with the entry's name. */
  field: FieldModel | undefined;
  /** Whether the caller may read drafts of all entries. */
  drafts: boolean;
  /** Whether the name is shown in the review of a change set. */
  isReviewed: boolean;
}

/** Id of the change set within which names of entries are read. By default, the one in which the user edits. */
export const NamesInSet = createContext<string | undefined>(undefined);

/** Returns the schema that a reference points to; undefined until the caller's rights are known. */
export function useTarget(ref: string | undefined): Target | undefined {
  const [orb = "", module = "", schema = ""] = (ref ?? "").split("/");
  const known = orb === "" ? undefined : orb;
  const caller = useCaller(known).data;
  const { data, error } = useOrb(known);
  const reviewed = useContext(NamesInSet);
  if (caller === undefined || (data === undefined && error === undefined)) return undefined;
  const model = schemaOf(data, module, schema);
  return {
    place: { orb, module, schema, managed: isPlatformAdmin(caller), change: reviewed ?? changeIn(orb) },
    model,
    field: nameField(model),
    isReviewed: reviewed !== undefined,
    drafts: may(caller, "update", { module, schema }) || may(caller, "publish", { module, schema }),
  };
}

export const isSingleReference = (field: FieldModel): boolean =>
  field.type === "reference" && field.list !== true && !isPolymorphic(field);

/** Returns the field that names an entry: its title, or else its first reference. */
function nameField(model: SchemaModel | undefined): FieldModel | undefined {
  if (model === undefined) return undefined;
  return titleField(model) ?? model.fields.find(isSingleReference);
}

/** Returns the cache key of a referenced entry. */
export const targetKey = (
  { place: { orb, module, schema, change = "" } }: Pick<Target, "place">,
  id: string,
): string => `orbs/${orb}/name/${module}/${schema}/${id}?${change}`;

/** Reads a referenced entry with its name. Entries that are shown at the same time share a request. */
export function useEntry(target: Target | undefined, id: string) {
  const named = target?.field;
  return useLoad<EntryItem | null>(
    target === undefined || id === "" ? null : targetKey(target, id),
    async () => {
      if (target === undefined) return null;
      const { place, drafts, isReviewed } = target;
      const shown = { fields: ["id", ...(named === undefined ? [] : [named.name])], drafts };
      const found = await readOne(place, id, shown);
      // The reviewed set may delete the entry. It still has its name.
      return found === null && isReviewed ? readOne({ ...place, change: undefined }, id, shown) : found;
    },
  );
}

/** Returns the name of an entry. Returns its id if it has no name, or if its name is that of another entry. */
export function nameOfEntry(target: Target | undefined, entry: EntryItem): string {
  const { field } = target ?? {};
  const name = field === undefined || field.type === "reference" ? "" : plainValue(entry.values[field.name]);
  return name === "" ? entry.id : name;
}

export interface Named {
  /** Undefined while it loads; null if the caller cannot see the entry. */
  entry: EntryItem | null | undefined;
  /** The id, until the name is known. */
  name: string;
  error: unknown;
}

/** Reads the name of a referenced entry. An entry without a text is named after the entry that it refers to. */
export function useTargetName(reference: string | undefined, id: string): Named {
  const target = useTarget(reference);
  const { data, error } = useEntry(target, id);
  const field = target?.field?.type === "reference" ? target.field : undefined;
  const innerId = field === undefined ? "" : plainValue(data?.values[field.name]);
  const innerTarget = useTarget((field === undefined ? undefined : refsOf(field)[0]) ?? reference);
  const inner = useEntry(innerTarget, innerId).data;
  const name =
    inner !== undefined && inner !== null
      ? nameOfEntry(innerTarget, inner)
      : data === undefined || data === null
        ? id
        : nameOfEntry(target, data);
  return { entry: data, name, error };
}

/** Shows the name of a referenced entry, or its id until the name is loaded. */
export function TargetName({ reference, id }: { reference: string | undefined; id: string }) {
  const { name } = useTargetName(reference, id);
  if (name === id) return <code class="clip hint">{id}</code>;
  return (
    <span class="clip" title={id} dir="auto">
      {name}
    </span>
  );
}
