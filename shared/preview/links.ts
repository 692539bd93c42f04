/**
 * Preview links: addresses of pages that show an entry as it is in the console. The token in the link lets the site read
 * this one entry as the link's author, drafts included, until the link ends.
 */
import { type AccountActor, type Actor, actorId, credentialOf } from "../access/actor.ts";
import { endedPreviewKey } from "../access/authenticate.ts";
import { PLATFORM_REALM, type Principal, requireMay } from "../access/authorize.ts";
import { refusal } from "../access/refusals.ts";
import { issuePreviewToken } from "../access/tokens.ts";
import type { CompiledSchema } from "../definition/compile.ts";
import { filledIn, placeholdersIn, previewOrigin } from "../definition/document/index.ts";
import type { LiveOrb } from "../definition/live-orb.ts";
import type { Deps } from "../deps.ts";
import { type Choice, choose } from "../entry/model/index.ts";
import { getEntry, Reading } from "../entry/read/index.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import { buckets, isToken } from "../store/subjects.ts";

/** Lifetime of a link in seconds: at least a minute, at most a week. */
export const PREVIEW_SECONDS = { min: 60, max: 7 * 86_400, default: 3_600 } as const;

/** Query parameter of the page's address that contains the token. */
export const PREVIEW_PARAMETER = "orb-preview";

export interface NewPreview {
  live: LiveOrb;
  /** The definition with which the entry is read: the live one, or the one that the change set proposes. */
  within: LiveOrb;
  /** The entry's schema in this definition. */
  schema: CompiledSchema;
  entry: string;
  change?: string | undefined;
  locale?: string | undefined;
  market?: string | undefined;
  seconds: number;
}

export interface PreviewLink {
  id: string;
  /** The page's address with the token. */
  url: string;
  /** Origin of the site. */
  site: string;
  expiresAt: string;
}

/** Returns the account that sent a request, which is the author of its links. */
function authorOf(actor: Actor): AccountActor {
  if (actor.kind !== "platform" && actor.kind !== "orb") throw refusal(actor);
  return actor;
}

const realmOf = (author: AccountActor) => (author.kind === "platform" ? PLATFORM_REALM : author.realm);

/**
 * Makes a link to the page of an entry.
 * @param reading the dependencies with which the entry is read, which may show a change set
 * @throws AppError not_found `no_preview` if the schema names no page; conflict `preview_incomplete` if a value that is
 * part of the page's address is missing
 */
export async function makePreview(
  deps: Deps,
  reading: Deps,
  caller: Principal,
  input: NewPreview,
): Promise<PreviewLink> {
  const { live, schema, entry, change, seconds } = input;
  const author = authorOf(caller.actor);
  requireMay(caller, "readDraft", { access: schema.access, own: true });
  // A definition that is only proposed must not choose the site that gets the token.
  const { preview } = live.compiled.schemaNamed(schema.module, schema.home.schema)?.definition ?? {};
  if (preview === undefined)
    throw notFound("preview", "The schema names no page. Set preview in its definition, and publish it.");
  const choice = choose(schema, input);
  const values = await valuesOf(reading, caller, input, choice);
  const parts = { locale: choice.languages[0], market: choice.markets[0], id: entry };
  const partOf = (name: string) => textOf({ ...values, ...parts }[currentName(schema, name)]);
  const filled = filledIn(preview.url, partOf);
  if (filled === undefined) throw incomplete(placeholdersIn(preview.url).filter((name) => !partOf(name)));
  const now = deps.clock.now();
  const iat = Math.floor(now / 1000);
  const exp = Math.min(iat + seconds, author.exp);
  const id = deps.randomToken(16);
  const by = { realm: realmOf(author), sub: author.sub, sid: credentialOf(author) };
  const claims = { id, orb: live.orb, entry, change, author: by, iat, exp };
  const url = new URL(filled);
  url.searchParams.set(PREVIEW_PARAMETER, await issuePreviewToken(deps.config, claims));
  const expiresAt = new Date(exp * 1000).toISOString();
  return { id, url: url.href, site: previewOrigin(preview.url), expiresAt };
}

async function valuesOf(
  reading: Deps,
  caller: Principal,
  { within, schema, entry }: NewPreview,
  choice: Choice,
): Promise<Readonly<Record<string, unknown>>> {
  const drafts = Reading.of(caller, within, schema, true);
  const found = await getEntry(reading, {
    ...{ reading: drafts, id: entry, choice },
    query: { fields: undefined, expand: [] },
  });
  return found.entry.values;
}

/** Returns the name that a field has now, for a name that it may have had earlier. */
function currentName({ fields }: CompiledSchema, name: string): string {
  if (fields.has(name)) return name;
  const had = ({ definition: { was = [] } }: { definition: { was?: string | string[] | undefined } }) =>
    [was].flat().includes(name);
  return [...fields.values()].find(had)?.name ?? name;
}

const textOf = (value: unknown): string | undefined =>
  value === null || value === undefined || typeof value === "object" ? undefined : String(value);

function incomplete(names: readonly string[]): AppError {
  const detail = `The address of the page needs a value of ${names.join(" and ")}. Set it, and save the entry.`;
  return new AppError("conflict", "preview_incomplete", detail);
}

/** Ends a link of the caller. Does nothing if the link has ended already. */
export async function endPreview(deps: Deps, actor: Actor, id: string): Promise<void> {
  const author = authorOf(actor);
  if (!isToken(id)) throw notFound("preview", "There is no such preview link.");
  const key = await endedPreviewKey({ id, author: { realm: realmOf(author), sub: actorId(author) } });
  await deps.store.kvPut(buckets.challenges, key, "ended", { ttl: PREVIEW_SECONDS.max + 60 });
}

/** Returns the origins of the sites on which an application shows its entries. */
export function previewSites({ compiled }: Pick<LiveOrb, "compiled">): string[] {
  const schemas = [...compiled.modules.values()].flatMap((module) => [...module.schemas.values()]);
  const urls = schemas.flatMap(({ definition: { preview } }) => (preview === undefined ? [] : [preview.url]));
  return [...new Set(urls.map(previewOrigin))];
}
