/** Counts what an application stores, so that people know what a deletion erases. */
import { recordPages } from "../access/accounts.ts";
import type { Actor } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import { bucketsOf, keys } from "../access/realms.ts";
import type { Deps } from "../deps.ts";
import { readPage } from "../entry/index/index.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { subjects } from "../store/subjects.ts";
import { readOrb } from "./change.ts";

export interface Count {
  total: number;
  /** Set if there are more than `total`. */
  totalExact?: false;
}

export interface OrbContents {
  /** All entries, including drafts, archived ones and those of removed schemas. */
  entries: Count;
  /** Accounts of the application itself. Shared accounts are not part of it. */
  users: Count;
  /** Uploaded files, including those that no entry has yet. */
  files: Count;
}

/** Up to this many messages are counted one by one, because some of them may be markers of a recent deletion. */
const ONE_BY_ONE = 1_000;
/** Maximum number of accounts to count. */
const ACCOUNTS = 1_000;

export async function orbContents(deps: Deps, actor: Actor, orb: string): Promise<OrbContents> {
  requireOperator(actor, "orbs.read", orb);
  await readOrb(deps, orb);
  const [entries, users, files] = await Promise.all([
    countMessages(deps, orb, subjects.orbIndex(orb)),
    countAccounts(deps, orb),
    countMessages(deps, orb, fileSubjects.records(orb)),
  ]);
  return { entries, users, files };
}

async function countMessages(deps: Deps, orb: string, filter: string): Promise<Count> {
  const page = await readPage(deps.store, orb, filter, { fromSeq: 1, limit: ONE_BY_ONE });
  return { total: page.messages.filter(({ size }) => size > 0).length + page.pending };
}

async function countAccounts(deps: Deps, orb: string): Promise<Count> {
  let total = 0;
  for await (const page of recordPages(deps, bucketsOf(orb).accounts, keys.all({ name: orb }))) {
    total += page.length;
    if (total > ACCOUNTS) return { total: ACCOUNTS, totalExact: false };
  }
  return { total };
}
