/** After a change of the encryption keys, encrypts the client secrets of an application's identity providers again. */
import type { Actor } from "../access/actor.ts";
import {
  type OrbDocument,
  type ProviderDefinition,
  providerBinding,
  SEALED,
} from "../definition/document/index.ts";
import { exists, orbHead, rewriteLive } from "../definition/stored/index.ts";
import type { Config, Deps } from "../deps.ts";
import { isCurrent, open, seal } from "../kernel/seal.ts";
import { activate, type Change, changeOrb } from "./change.ts";

type Keys = Pick<Config, "encryptionKeys">;

export interface ResealedSecrets {
  /** Ids of providers whose secret was encrypted again. */
  done: string[];
  /** Ids of providers whose secret none of the configured keys can decrypt. */
  failed: string[];
}

interface Resealed extends ResealedSecrets {
  /** The document with the new secrets; the same object as before if no secret has changed. */
  document: OrbDocument;
}

/** Encrypts the client secrets of a document with the newest key. */
export async function resealDocument({ encryptionKeys }: Keys, document: OrbDocument): Promise<Resealed> {
  const [done, failed]: [string[], string[]] = [[], []];
  const { access } = document;
  const providers: ProviderDefinition[] = [];
  for (const provider of access?.providers ?? []) {
    const sealed = provider.clientSecret?.startsWith(SEALED)
      ? provider.clientSecret.slice(SEALED.length)
      : undefined;
    providers.push(provider);
    if (sealed === undefined || isCurrent(encryptionKeys, sealed)) continue;
    const binding = providerBinding(document.id, provider);
    const secret = await open(encryptionKeys, sealed, binding);
    if (secret === null) {
      failed.push(provider.id);
      continue;
    }
    done.push(provider.id);
    const clientSecret = `${SEALED}${await seal(encryptionKeys, secret, binding)}`;
    providers.splice(-1, 1, { ...provider, clientSecret });
  }
  if (done.length === 0) return { document, done, failed };
  return { document: { ...document, access: { ...access, providers } }, done, failed };
}

/** Thrown if another process has already encrypted the secrets with the newest key. */
class NothingToDo extends Error {}

/**
 * Encrypts the client secrets in the newest revision and in the published definition with the newest key. Appends a
 * new revision that contains the newly encrypted secrets. If the newest revision is a draft, the new one is a draft
 * too, and the published definition is replaced separately. Never rewrites older revisions.
 * @returns the ids of the providers whose secret was encrypted again, and of those whose secret none of the
 * configured keys can decrypt
 */
export async function resealProviders(deps: Deps, actor: Actor, orb: string): Promise<ResealedSecrets> {
  const head = await orbHead(deps, orb);
  if (!exists(head)) return { done: [], failed: [] };
  const [done, failed] = [new Set<string>(), new Set<string>()];
  const reseal = async (document: OrbDocument): Promise<OrbDocument> => {
    const resealed = await resealDocument(deps.config, document);
    for (const id of resealed.done) done.add(id);
    for (const id of resealed.failed) failed.add(id);
    return resealed.document;
  };
  if ((await reseal(head.document)) !== head.document) {
    await changeOrb(deps, actor, { orb }, "update", null, async (current): Promise<Change> => {
      const document = await reseal(current.document);
      if (document === current.document) throw new NothingToDo();
      const { revision, publishedRevision } = current;
      const change = { document, summary: ["encrypted the client secrets again"] };
      if (publishedRevision !== null && publishedRevision !== revision) return change;
      const activated = await activate(deps, orb, current, document, false);
      return {
        ...change,
        ...(publishedRevision === null ? {} : { publishedRevision: revision + 1 }),
        ...activated,
      };
    }).catch((error: unknown) => {
      if (!(error instanceof NothingToDo)) throw error;
    });
  }
  await rewriteLive(deps, orb, reseal);
  return { done: [...done], failed: [...failed] };
}
