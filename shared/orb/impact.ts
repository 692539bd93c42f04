/** What a definition that becomes the one in force does to stored entries: told beforehand, and judged when it happens. */
import type { Deps } from "../deps.ts";
import {
  claimExisting,
  type Duplicate,
  entryCounts,
  type InvalidEntries,
  invalidEntries,
} from "../entry/publishing.ts";
import { AppError } from "../errors.ts";
import { compareDefinitions, type SchemaChange } from "./compat.ts";
import { type CompiledOrb, type CompiledSchema, compileOrb, SUBJECT_TYPES } from "./compile.ts";
import type { OrbDocument } from "./document.ts";
import type { EntryWork, Home } from "./history.ts";

/** One change that concerns stored entries, with how many there are. */
export interface ImpactItem extends SchemaChange {
  /** Entries stored in the schema. */
  entries: number;
  /** Whether the change is refused. */
  refused: boolean;
  /** Whether `force=true` lets it happen. */
  forceable: boolean;
}

/** What would happen to stored entries. */
export interface Impact {
  changes: ImpactItem[];
  /** Values that entries share although their field becomes unique. */
  duplicates: (Duplicate & { module: string; schema: string })[];
  /** Entries that would be told to be invalid on their next write. */
  invalid: (InvalidEntries & { module: string; schema: string })[];
}

/** What must be done to stored entries when a definition becomes the one in force. */
export interface Plan {
  impact: Impact;
  work: EntryWork;
  /** Schemas of the new definition whose claims and indexes change. */
  claims: CompiledSchema[];
}

/** Compares two definitions over what is stored. @param options.examine also checks stored values (for a dry run) */
export async function planChange(
  deps: Deps,
  orb: string,
  from: OrbDocument,
  to: OrbDocument,
  options: { revision: number; examine: boolean; force: boolean },
): Promise<Plan> {
  const [before, after] = [compileOrb(from), compileOrb(to)];
  const counts = await countStored(deps, orb, before);
  const stored = (module: string, schema: string) => {
    const found = before.modules.get(module)?.schemas.get(schema);
    return found === undefined ? 0 : (counts.get(key(homeOf(found))) ?? 0);
  };
  const changes = compareDefinitions(from, to).map((change): ImpactItem => {
    const entries = stored(change.module, change.schema);
    const forceable = change.severity === "removal";
    const refused = entries > 0 && (change.severity === "dangerous" || (forceable && !options.force));
    return { ...change, entries, refused, forceable };
  });
  const claims = reindexed(before, after).filter((schema) => (counts.get(key(homeOf(schema))) ?? 0) > 0);
  const context = { orb, revision: options.revision, compiled: after };
  const impact: Impact = { changes, duplicates: [], invalid: [] };
  if (options.examine) {
    for (const schema of claims) {
      const { duplicates } = await claimExisting(deps, context, schema, { dryRun: true });
      impact.duplicates.push(
        ...duplicates.map((one) => ({ module: schema.module, schema: schema.id, ...one })),
      );
    }
    const tightened = new Set(
      changes
        .filter((c) => c.severity === "tightened" && c.entries > 0)
        .map((c) => `${c.module}/${c.schema}`),
    );
    for (const place of tightened) {
      const [module = "", schema = ""] = place.split("/");
      const compiled = after.schema(module, schema);
      if (compiled !== undefined) {
        impact.invalid.push({ module, schema, ...(await invalidEntries(deps, orb, compiled)) });
      }
    }
  }
  const work: EntryWork = { claims: claims.map(homeOf), moves: movesOf(before, after, changes) };
  return { impact, work, claims };
}

/**
 * Refuses what would harm stored entries, then lets them hold what the new definition says: claims of unique values.
 * @throws AppError conflict `incompatible_change` with the counts, `unique_conflict` with the duplicates
 */
export async function enforce(
  deps: Deps,
  orb: string,
  to: OrbDocument,
  revision: number,
  plan: Plan,
): Promise<void> {
  const refused = plan.impact.changes.filter((change) => change.refused);
  if (refused.length > 0) {
    const told = refused.map((change) => `${change.message} (${change.entries} entries)`).join(" ");
    const hint = refused.every((change) => change.forceable)
      ? " With force=true it happens all the same."
      : "";
    throw new AppError(
      "conflict",
      "incompatible_change",
      `Stored entries stand against this. ${told}${hint}`,
      {
        data: { impact: plan.impact },
      },
    );
  }
  const context = { orb, revision, compiled: compileOrb(to) };
  for (const schema of plan.claims) {
    const { duplicates } = await claimExisting(deps, context, schema);
    if (duplicates.length === 0) continue;
    const told = duplicates.map((one) => ({ module: schema.module, schema: schema.id, ...one }));
    throw new AppError(
      "conflict",
      "unique_conflict",
      "Stored entries share values of a field that becomes unique.",
      {
        data: { impact: { ...plan.impact, duplicates: told } },
      },
    );
  }
}

function homeOf(schema: CompiledSchema): Home {
  return { type: schema.subjectType, schema: schema.id };
}

const key = (home: Home) => `${home.type}/${home.schema}`;

async function countStored(deps: Deps, orb: string, compiled: CompiledOrb): Promise<Map<string, number>> {
  const homes = [...compiled.byType.values()].map(homeOf);
  const counts = await entryCounts(deps, orb, homes);
  return new Map(homes.map((home, index) => [key(home), counts[index] ?? 0]));
}

/** Schemas in which a field gets another index, or a claim, than it had. */
function reindexed(before: CompiledOrb, after: CompiledOrb): CompiledSchema[] {
  return [...after.byType.values()].filter((schema) => {
    const old = before.byType.get(key(homeOf(schema)));
    if (old === undefined) return false;
    const changed = [...schema.fields.values()].some((field) => {
      const was = old.fields.get(field.name);
      const special = field.indexed || field.unique || field.target !== undefined;
      return special && (was === undefined || was.indexed !== field.indexed || was.unique !== field.unique);
    });
    return changed;
  });
}

function movesOf(
  before: CompiledOrb,
  after: CompiledOrb,
  changes: readonly ImpactItem[],
): EntryWork["moves"] {
  const moves: EntryWork["moves"] = [];
  for (const change of changes) {
    if (change.entries === 0 || (change.severity !== "access" && change.severity !== "removal")) continue;
    const type = SUBJECT_TYPES[change.moduleType];
    const from = before.byType.get(`${type}/${change.schema}`)?.liveRole;
    const to = after.byType.get(`${type}/${change.schema}`)?.liveRole ?? null;
    if (from !== undefined && from !== to) moves.push({ type, schema: change.schema, from, to });
  }
  return moves;
}
