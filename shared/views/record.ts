/** The saved views of a schema's lists as they are stored: one message for those of an account, one for the shared ones. */
import { type AccountActor, actorId } from "../access/actor.ts";
import type { CompiledSchema } from "../definition/compile.ts";
import type { Deps } from "../deps.ts";
import { nullIfMissing } from "../store/pages.ts";
import { streams, subjects } from "../store/subjects.ts";
import type { Append } from "../store/types.ts";
import type { StoredList } from "./list.ts";

export const VIEW_LIMITS = {
  /** Maximum views of an account, and maximum shared ones, for each schema. */
  views: 50,
  /** Maximum bytes of a stored view. */
  bytes: 8 * 1024,
} as const;

/** Who sees a view: the account that saved it, the accounts with a role, or all who may read entries of the schema. */
export const AUDIENCES = ["me", "role", "all"] as const;
export type Audience = (typeof AUDIENCES)[number];

export interface StoredView {
  id: string;
  revision: number;
  name: string;
  audience: Audience;
  /** Only for the audience `role`. */
  role?: string | undefined;
  /** Whether lists open with the view. At most one of the views with the same audience has it. */
  default?: true | undefined;
  list: StoredList;
  at: string;
  by: string;
}

interface Stored {
  v: 1;
  views: StoredView[];
}

/** The views of one message, in the order in which they were saved. */
export interface Saved {
  subject: string;
  /** Sequence number of the message; 0 if there is none. */
  seq: number;
  views: readonly StoredView[];
}

/** Reads the views of an account, and the shared ones. */
export async function savedViews(
  { store }: Pick<Deps, "store">,
  actor: AccountActor,
  schema: CompiledSchema,
): Promise<{ own: Saved; shared: Saved }> {
  const address = { orb: schema.orb, ...schema.home };
  const own = subjects.ownViews(address, actor.kind, actorId(actor));
  const shared = subjects.sharedViews(address);
  const maxBytes = 2 * (VIEW_LIMITS.views + 1) * VIEW_LIMITS.bytes;
  const found = await nullIfMissing(store.getMany(streams.orb(schema.orb), [own, shared], { maxBytes }));
  const saved = (subject: string): Saved => {
    const message = found?.get(subject);
    return { subject, seq: message?.seq ?? 0, views: message?.json<Stored>().views ?? [] };
  };
  return { own: saved(own), shared: saved(shared) };
}

/** Returns the message that replaces views. It expects those that were read. */
export function viewsMessage({ subject, seq }: Saved, views: readonly StoredView[]): Append {
  const stored: Stored = { v: 1, views: [...views] };
  return { subject, data: JSON.stringify(stored), rollup: true, expect: { seq } };
}
