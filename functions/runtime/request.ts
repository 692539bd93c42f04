/** Requests about the entries of orbs, at both of their addresses. */
import type { Context } from "hono";
import type { z } from "zod";
import type { Actor } from "../../shared/access/actor.ts";
import type { Principal } from "../../shared/access/authorize.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/index.ts";
import { currentView, inLiveSchema, type Target, type Written } from "../../shared/entry/index.ts";
import { type Choice, choose, richTextForm } from "../../shared/entry/model/index.ts";
import type { PinnedItems, PinnedRequest } from "../../shared/entry/pinned/index.ts";
import { parseExtras } from "../../shared/entry/query/index.ts";
import {
  listEntries,
  listManaged,
  presentWritten,
  Reading,
  schemaOfEntry,
} from "../../shared/entry/read/index.ts";
import { invalid, notFound } from "../../shared/kernel/errors.ts";
import { asEntryFault, keyPath, pinnedItems, shapeTag } from "../admin/entry-schemas.ts";
import { revisionTag, withVariant } from "../http/etag.ts";
import { faultsOf } from "../http/problem.ts";
import { definitionIn, type ReadingWithin } from "../http/within.ts";
import { readJson } from "../middleware/body.ts";
import { completeResponse } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";
import { type Target as ListTarget, listQueryOf } from "./list-input.ts";

/** The body of a write. Values and times are checked later, against the orb's own definition. */
export interface EntryContent {
  id?: string | undefined;
  orb?: string | undefined;
  module?: string | undefined;
  schema?: string | undefined;
  values?: unknown;
  add?: unknown;
  validFrom?: unknown;
  validTo?: unknown;
  fallback?: unknown;
  revision?: unknown;
}

/** What the requests of an operation may contain, at one of the addresses. */
export interface Taken {
  /** The query parameters, and the values that the description allows for each. Undefined: any text. */
  parameters: ReadonlyMap<string, readonly string[] | undefined>;
  body: z.ZodType<EntryContent>;
}

type Query = Readonly<Record<string, string>>;
/** A page of the entries that a request is to change, and the shape that each write has. */
interface Selected {
  items: readonly { id: string; shape: () => PinnedRequest | undefined }[];
  nextCursor: string | null;
}

/** A request at one of the two addresses. Its members are what writes need to know of the address. */
export interface EntryRequest {
  readonly c: Context<AppEnv>;
  readonly operation: Taken;
  readonly actor: Actor;
  readonly orbId: string;
  /** The live definition, which may still be loading. */
  readonly orb: LiveOrb | Promise<LiveOrb>;
  /** The schema in the path, and how a retry reads the definition again. Empty if the path names no schema. */
  readonly of: Pick<Target, "schema" | "renew">;
  /** Set if the request has the shape of an earlier revision of the definition. */
  readonly pinned: PinnedRequest | undefined;
  /** Returns the query parameters. Throws if the operation does not take one of them. */
  query(): Query;
  body(): Promise<EntryContent>;
  /** Returns the module and the schema of a new entry, with the names of the live definition. */
  placeOf(content: EntryContent): Promise<{ module: string; schema?: string | undefined }>;
  /** Returns the language and market of the values in the body. Undefined: values are maps of all of them. */
  localeOf(query: Query): { locale?: string | undefined; market?: string | undefined };
  /**
   * Returns the canonical path to which idempotency keys belong.
   * @param rest the part of the path after the collection
   */
  keyPath(rest: string): string;
  /** Returns a page of the newest revisions that the parameters select, for a change of many entries. */
  select(parameters: URLSearchParams, within: () => Promise<ReadingWithin>): Promise<Selected>;
  /** Headers of responses that show revisions, beside the defaults. */
  readonly historyHeaders: Readonly<Record<string, string>>;
  /** Responds to a write. */
  answer(written: Written, query: Query, status?: 200 | 201): Promise<Response>;
}

export function searchOf(c: Context<AppEnv>): URLSearchParams {
  const { url } = c.req;
  const at = url.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
}

/** Returns the member `warnings` of the response to a write, if there are any. */
export function warningsOf({ warnings = [] }: Pick<Written, "warnings">): Pick<Written, "warnings"> {
  return warnings.length === 0 ? {} : { warnings: [...warnings] };
}

/** A request of the management API. The caller is a platform admin, and sees stored entries as they are. */
export class ManagedRequest implements EntryRequest {
  readonly c: Context<AppEnv>;
  readonly operation: Taken;
  readonly orbId: string;
  readonly orb: Promise<LiveOrb>;
  readonly of: EntryRequest["of"] = {};
  readonly historyHeaders = {};
  pinned: PinnedRequest | undefined;
  /** The revision that the request names, for entries of all schemas. */
  items: PinnedItems | undefined;

  private constructor(c: Context<AppEnv>, operation: Taken, orb: Promise<LiveOrb>) {
    this.c = c;
    this.operation = operation;
    this.orbId = c.req.param("orbId") ?? "";
    this.orb = orb;
  }

  /**
   * @param orb the definition, which may still be loading
   * @param entry the id of the entry that the path names
   */
  static async open(
    c: Context<AppEnv>,
    operation: Taken,
    orb: Promise<LiveOrb>,
    entry: string | undefined,
  ): Promise<ManagedRequest> {
    const request = new ManagedRequest(c, operation, orb);
    const items = await pinnedItems(c, orb);
    request.items = items;
    if (items !== undefined && entry !== undefined)
      request.pinned = items.request(await schemaOfEntry(c.var.deps, await request.orb, entry));
    return request;
  }

  get actor(): Actor {
    return this.c.var.actor;
  }

  /** The router has checked the parameters and the body. */
  query(): Query {
    return this.c.req.query();
  }

  body(): Promise<EntryContent> {
    return this.c.req.json();
  }

  localeOf({ locale, market }: Query) {
    return { locale, market };
  }

  async placeOf({ module = "", schema, values }: EntryContent) {
    if (this.items === undefined) return { module, schema };
    const { entry, pinned } = inLiveSchema(this.items, await this.orb, { module, schema, values });
    this.pinned = pinned;
    return entry;
  }

  keyPath(): string {
    return keyPath(this.c, this.items);
  }

  async select(parameters: URLSearchParams, within: () => Promise<ReadingWithin>): Promise<Selected> {
    const { actor, items: pinned } = this;
    const orb = await this.orb;
    const { deps, pages } = await within();
    const page = await listManaged(deps, actor, { orb, parameters: [...parameters], pages, pinned });
    const shapeOf = ({ module, schema }: { module: string; schema: string }) => {
      const old = pinned?.compiled.schema(module, schema);
      return old && pinned?.request(pinned.liveOf(old));
    };
    return { ...page, items: page.items.map((item) => ({ id: item.id, shape: () => shapeOf(item) })) };
  }

  async answer(written: Written, _: Query, status: 200 | 201 = 200): Promise<Response> {
    const { c, pinned } = this;
    const { snapshot, replayed, warnings = [] } = written;
    c.header("etag", withVariant(revisionTag(snapshot.revision), shapeTag(pinned)));
    if (replayed) c.header("idempotent-replayed", "true");
    if (status === 201) c.header("location", `${c.req.path}/${snapshot.id}`);
    const { compiled } = await this.orb;
    // The definition may have changed between two attempts of the write.
    const schema = pinned?.pair?.now ?? compiled.schemaNamed(snapshot.module, snapshot.schema);
    const view = currentView(snapshot, schema);
    const told = warningsOf({ warnings: pinned?.faults(warnings) ?? warnings });
    return c.json({ ...(pinned?.whole(view) ?? view), ...told }, status);
  }
}

interface Resolved extends ListTarget {
  c: Context<AppEnv>;
  operation: Taken;
  /** The last sequence number of the application's stream, if a list begins there. */
  last?: Promise<number | undefined> | undefined;
}

/** A request of a published orb. The path names a schema, and the response is in the caller's language and market. */
export class OrbRequest implements EntryRequest {
  readonly c: Context<AppEnv>;
  readonly operation: Taken;
  readonly live: LiveOrb;
  readonly schema: CompiledSchema;
  readonly caller: Principal;
  readonly pinned: PinnedRequest | undefined;
  readonly last: Promise<number | undefined> | undefined;

  constructor({ c, operation, live, schema, caller, pinned, last }: Resolved) {
    this.c = c;
    this.operation = operation;
    this.live = live;
    this.schema = schema;
    this.caller = caller;
    this.pinned = pinned;
    this.last = last;
  }

  get actor(): Actor {
    return this.caller.actor;
  }

  get orbId(): string {
    return this.live.orb;
  }

  get orb(): LiveOrb {
    return this.live;
  }

  get of() {
    const { c, live, schema } = this;
    const renew = async () => {
      const deps = c.get("deps");
      const now = await definitionIn(deps, await requireLive(deps, live.orb), c.req.query("change"));
      const module = now.compiled.modules.get(schema.module);
      if (module?.routed !== true || module.schemas.get(schema.id)?.subjectType !== schema.subjectType)
        throw notFound("schema");
      return now;
    };
    return { schema, renew };
  }

  query(): Query {
    if (!this.c.req.url.includes("?")) return {};
    return parseExtras(searchOf(this.c), this.operation.parameters);
  }

  async body(): Promise<EntryContent> {
    const body = await readJson(this.c, true);
    const result = this.operation.body.safeParse(body);
    if (!result.success) throw invalid(faultsOf(result.error, body).map(asEntryFault));
    return result.data;
  }

  async placeOf() {
    return { module: this.schema.module, schema: this.schema.id };
  }

  localeOf({ locale, market }: Query) {
    return { locale: locale === "*" ? undefined : locale, market };
  }

  /**
   * The path stays the same if a request omits the schema, or after the schema is renamed. Keys of requests in the shape
   * of another revision are other ones.
   */
  keyPath(rest: string): string {
    const { live, schema, pinned } = this;
    const shape = pinned === undefined ? "" : `@${pinned.revision}`;
    return `/api/${live.orb}/${schema.module}/${schema.home.schema}${shape}${rest}`;
  }

  async select(parameters: URLSearchParams, within: () => Promise<ReadingWithin>): Promise<Selected> {
    const { caller, live, schema } = this;
    const reading = Reading.of(caller, live, schema, true);
    const query = listQueryOf(this, reading, parameters, []);
    const { deps, pages } = await within();
    const page = await listEntries(deps, { reading, choice: this.choiceOf({}), query, pages });
    // Writes at the same time each have faults with positions of their own.
    const shape = () => this.pinned?.again();
    return { ...page, items: page.items.map(({ id }) => ({ id, shape })) };
  }

  get historyHeaders() {
    const vary = `Authorization, Cookie${this.pinned === undefined ? "" : ", Orb-Definition"}`;
    return { "cache-control": "private, no-cache", vary };
  }

  /** Returns the language and the market of the response. */
  choiceOf(query: Query, schema = this.schema): Choice {
    const acceptLanguage = this.c.req.header("accept-language");
    return choose(this.pinned?.pair?.old ?? schema, { ...query, acceptLanguage });
  }

  /** @param collection path of the collection, to which a new entry's id is added */
  async answer(
    written: Written,
    query: Query,
    status: 200 | 201 = 200,
    collection = this.c.req.path,
  ): Promise<Response> {
    const { c, live, caller, pinned } = this;
    const schema = pinned?.pair?.now ?? this.schema;
    const richText = await richTextForm(query.richText);
    const choice = { ...this.choiceOf(query, schema), richText };
    const { entry, etag, languages } = presentWritten(caller, live, schema, written.snapshot, choice, pinned);
    const headers = responseHeaders(this, { schema, choice, private: true, expanded: false, languages });
    headers["content-type"] = "application/json";
    headers["cache-control"] = "no-store";
    headers.etag = etag;
    if (written.replayed) headers["idempotent-replayed"] = "true";
    if (written.unchanged === true) headers["entry-unchanged"] = "true";
    if (status === 201) headers.location = `${collection}/${entry.id}`;
    const { warnings = [] } = written;
    const told = warningsOf({ warnings: pinned?.faults(warnings) ?? warnings });
    return completeResponse(c, JSON.stringify({ ...entry, ...told }), status, headers);
  }
}

interface ResponseFacts {
  schema?: CompiledSchema;
  choice: Choice;
  /** Whether the response contains data that only writers may see: a draft, or the result of a write. */
  private: boolean;
  /** Whether the response contains referenced entries. */
  expanded: boolean;
  languages: readonly string[];
}

/** Returns the cache and language headers. Clients must always revalidate, which the ETag makes cheap. */
export function responseHeaders(request: OrbRequest, answer: ResponseFacts): Record<string, string> {
  const { choice, expanded, languages, schema = request.schema } = answer;
  const personal = answer.private || expanded;
  const vary: string[] = [];
  if (choice.negotiated && (expanded || schema.translatable.length > 0)) vary.push("Accept-Language");
  const forAll = schema.access.read.least === "public";
  if (personal || !forAll || schema.narrowed.read) vary.push("Authorization", "Cookie");
  // Responses without the header need not vary by it: caches must always revalidate, and the ETags differ.
  if (request.pinned !== undefined) vary.push("Orb-Definition");
  const first = schema.translatable.length > 0 ? choice.languages[0] : undefined;
  const spoken = languages.length > 0 ? languages.join(", ") : first;
  const open = request.actor.kind === "anonymous" && !personal && forAll;
  const headers: Record<string, string> = {
    "cache-control": open ? "public, no-cache" : "private, no-cache",
  };
  if (vary.length > 0) headers.vary = vary.join(", ");
  if (spoken !== undefined && !choice.allLocales) headers["content-language"] = spoken;
  return headers;
}
