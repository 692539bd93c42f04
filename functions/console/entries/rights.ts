/** The rights of the caller for one entry. */
import { type Action, type Caller, isPlatformAdmin, may } from "../api/caller.ts";
import type { EntryItem } from "../api/entries.ts";
import type { FieldModel, ModuleType, OrbModel, SchemaModel } from "../model/orb.ts";
import { mayField, type Rank } from "../model/rights.ts";
import { type TextKey, t } from "../texts/t.ts";

export interface Rights {
  may: (action: Action) => boolean;
  reveal: boolean;
  /** Whether the caller may read the history and use the actions that depend on it. */
  history: boolean;
  /** Names of the fields that the caller may read. */
  readable: ReadonlySet<string>;
  /** Names of the fields that the caller may set. */
  writable: ReadonlySet<string>;
  /** Returns whether the caller may read or set a field, also one of an object that the caller may read or set. */
  mayField: (field: FieldModel, action: "read" | "write") => boolean;
  /** The reason why the entry cannot be changed; undefined if it can be changed. */
  readOnly: string | undefined;
}

/** For module types whose entries only handlers may write: the text that says why the entry is read-only. */
const STAYS: Partial<Record<ModuleType, TextKey>> = {
  TRANSACTIONS: "entry.recordsStay",
  SETTINGS: "entry.settingsStay",
};

export function rightsOf(
  caller: Caller,
  { orb, module, schema }: { orb: OrbModel; module: { id: string; type: ModuleType }; schema: SchemaModel },
  entry: EntryItem | undefined,
): Rights {
  const admin = isPlatformAdmin(caller);
  const own = entry === undefined || entry.createdBy === caller.account?.id;
  const rank: Rank = admin
    ? { role: "owner", orbRole: "", own }
    : { role: caller.orb?.role ?? "public", orbRole: caller.account?.role ?? "", own };
  const allowed = (action: Action) =>
    may(caller, action, { module: module.id, schema: schema.id }, own && entry !== undefined);
  const mayOne: Rights["mayField"] = (field, action) => mayField(field, action, rank, orb);
  const names = (action: "read" | "write") =>
    new Set(schema.fields.filter((field) => mayOne(field, action)).map(({ name }) => name));
  const changes = entry === undefined ? "create" : "update";
  const stays = STAYS[module.type];
  const readOnly =
    stays !== undefined
      ? t(stays)
      : entry?.status === "ARCHIVED"
        ? t("entry.archivedStays")
        : allowed(changes)
          ? undefined
          : t("entry.notYours");
  return {
    may: (action) => stays === undefined && allowed(action),
    reveal: rank.role === "owner",
    history: admin || allowed("update") || allowed("publish"),
    readable: names("read"),
    writable: names("write"),
    mayField: mayOne,
    readOnly,
  };
}
