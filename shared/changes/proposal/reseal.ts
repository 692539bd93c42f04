/** After a change of the encryption keys, encrypts the client secrets in proposed definitions again. */
import type { Deps } from "../../deps.ts";
import { type ResealedSecrets, resealDocument } from "../../orb/reseal.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { pagesOf, untilWritten } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Proposal, parseProposal } from "../definition/index.ts";

const PROPOSALS_PER_READ = 50;

/**
 * Encrypts the client secrets in the definitions of all change sets with the newest key, also of those that were
 * published or closed. Approvals of a set stay valid.
 * @returns the ids of the providers whose secret was encrypted again, and of those whose secret none of the
 * configured keys can decrypt
 */
export async function resealProposals(deps: Deps, orb: string): Promise<ResealedSecrets> {
  const done: ResealedSecrets = { done: [], failed: [] };
  const filter = subjects.allChangeDefinitions(orb);
  const page = { limit: PROPOSALS_PER_READ, maxBytes: READ_BYTES };
  for await (const proposals of pagesOf(deps.store, streams.orb(orb), filter, page)) {
    for (const { subject } of proposals) {
      const resealed = await untilWritten(() => resealProposal(deps, orb, subject));
      done.done.push(...resealed.done);
      done.failed.push(...resealed.failed);
    }
  }
  return done;
}

async function resealProposal(deps: Deps, orb: string, subject: string): Promise<ResealedSecrets> {
  const read = parseProposal(await deps.store.get(streams.orb(orb), subject));
  if (read === null) return { done: [], failed: [] };
  const { document, done, failed } = await resealDocument(deps.config, read.proposal.document);
  if (done.length > 0) {
    const proposal: Proposal = { ...read.proposal, document };
    const data = JSON.stringify(proposal);
    await deps.store.append(streams.orb(orb), { subject, data, rollup: true, expect: { seq: read.seq } });
  }
  return { done, failed };
}
