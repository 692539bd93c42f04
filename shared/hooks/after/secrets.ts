/**
 * Secrets that sign webhooks. They are stored encrypted, separately from the application's document. The API returns a
 * secret only once, when it is created.
 */
import type { Actor } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { requireOperator } from "../../access/authorize.ts";
import { isOrbId } from "../../definition/document/index.ts";
import { exists, orbHead } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { notFound } from "../../kernel/errors.ts";
import { isCurrent, open, seal } from "../../kernel/seal.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { nullOnConflict, untilWritten } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";

export const SECRET_BYTES = 32;
const PREFIX = "whsec_";
/** After a secret is replaced, webhooks are signed with the old and the new secret for this many milliseconds. */
export const OVERLAP_MS = 86_400_000;

interface StoredSecret {
  v: 1;
  sealed: string;
  /** The replaced secret. It also signs webhooks until the time `until`, in milliseconds since the epoch. */
  previous?: { sealed: string; until: number } | undefined;
}

const binding = (orb: string, hook: string) => `hook/${orb}/${hook}`;

function stored(message: StoredMessage | null): StoredSecret | undefined {
  return message === null || message.size === 0 ? undefined : message.json<StoredSecret>();
}

/** Creates a new secret for a webhook and returns it. The secret cannot be read again later. */
export async function renewSecret(deps: Deps, actor: Actor, orb: string, hook: string): Promise<string> {
  requireOperator(actor, "orbs.write", orb);
  const head = isOrbId(orb) ? await orbHead(deps, orb) : null;
  if (head === null || !exists(head)) throw notFound("orb");
  if (head.document.hooks?.some(({ id, url }) => id === hook && url !== undefined) !== true) {
    throw notFound("webhook", "The newest revision of the orb has no webhook of this id.");
  }
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  const secret = `${PREFIX}${btoa(String.fromCharCode(...bytes))}`;
  const sealed = await seal(deps.config.encryptionKeys, secret, binding(orb, hook));
  const subject = subjects.hookSecret(orb, hook);
  await untilWritten(async () => {
    const message = await deps.store.get(streams.hooks, subject);
    const before = stored(message);
    const until = deps.clock.now() + OVERLAP_MS;
    const body: StoredSecret = {
      v: 1,
      sealed,
      ...(before === undefined ? {} : { previous: { sealed: before.sealed, until } }),
    };
    const expect = { seq: message?.seq ?? 0 };
    await deps.store.append(streams.hooks, { subject, data: JSON.stringify(body), rollup: true, expect });
  });
  await audit(deps, { realm: "platform", action: "orb", actor, target: orb, detail: "webhook_secret" });
  return secret;
}

/**
 * Returns the secrets that currently sign a webhook, newest first.
 * @throws Error if the webhook has no secret, or no configured key decrypts one
 */
export async function secretsOf(deps: Deps, orb: string, hook: string): Promise<Uint8Array<ArrayBuffer>[]> {
  const found = stored(await deps.store.get(streams.hooks, subjects.hookSecret(orb, hook)));
  if (found === undefined) throw new Error("The webhook has no secret. Make one.");
  const { previous } = found;
  const sealed = [
    found.sealed,
    ...(previous !== undefined && previous.until > deps.clock.now() ? [previous.sealed] : []),
  ];
  const texts = await Promise.all(
    sealed.map((text) => open(deps.config.encryptionKeys, text, binding(orb, hook))),
  );
  const keys = texts.flatMap((text) => (text === null ? [] : [decode(text)]));
  if (keys.length === 0) throw new Error("No key in ENCRYPTION_KEYS decrypts the webhook's secret.");
  return keys;
}

function decode(secret: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(secret.slice(PREFIX.length)), (character) => character.charCodeAt(0));
}

/**
 * Re-encrypts the secrets of an application's webhooks with the newest key. Leaves a secret unchanged if no key
 * decrypts it.
 * @returns ids of the hooks whose secret was encrypted again, and of those whose secret no configured key can decrypt
 */
export async function resealSecrets(deps: Deps, orb: string): Promise<{ done: string[]; failed: string[] }> {
  const [done, failed] = [new Set<string>(), new Set<string>()];
  const { store, config } = deps;
  const page = await store.scan(streams.hooks, subjects.hookSecrets(orb), {
    fromSeq: 1,
    limit: 200,
    maxBytes: SMALL_BYTES,
  });
  for (const message of page.messages) {
    const found = stored(message);
    const hook = message.subject.split(".").at(-1) ?? "";
    if (found === undefined) continue;
    const renew = async (text: string) => {
      if (isCurrent(config.encryptionKeys, text)) return text;
      const secret = await open(config.encryptionKeys, text, binding(orb, hook));
      (secret === null ? failed : done).add(hook);
      return secret === null ? text : seal(config.encryptionKeys, secret, binding(orb, hook));
    };
    // Drop the replaced secret if it no longer signs webhooks.
    const previous =
      found.previous !== undefined && found.previous.until > deps.clock.now() ? found.previous : undefined;
    const body: StoredSecret = {
      v: 1,
      sealed: await renew(found.sealed),
      ...(previous === undefined ? {} : { previous: { ...previous, sealed: await renew(previous.sealed) } }),
    };
    if (body.sealed === found.sealed && body.previous?.sealed === previous?.sealed) continue;
    // A conflict means that an operator has just created a new secret, which is already encrypted with the newest key.
    const write = {
      subject: message.subject,
      data: JSON.stringify(body),
      rollup: true,
      expect: { seq: message.seq },
    };
    await nullOnConflict(store.append(streams.hooks, write));
  }
  return { done: [...done], failed: [...failed] };
}
