/** Builds webhook requests, signed as the Standard Webhooks specification requires: https://www.standardwebhooks.com */
import type { Deps } from "../../deps.ts";
import { deliveryId } from "./call.ts";
import { secretsOf } from "./secrets.ts";
import type { Delivery } from "./source.ts";

export interface WebhookRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/**
 * Sends a webhook.
 * @throws Error with the reason unless the server responds with a status from 200 to 299
 */
export type Post = (request: WebhookRequest) => Promise<void>;

const encoder = new TextEncoder();

/** Returns what a webhook tells of an entry, without its values, of a change set, or of a comment, without its text. */
function dataOf(delivery: Delivery): { at: string; about: object } {
  if ("comment" in delivery) return { at: delivery.comment.at, about: delivery.comment };
  if ("change" in delivery) return { at: delivery.change.changedAt, about: delivery.change };
  const { values: _, ...about } = delivery.entry;
  return { at: about.updatedAt, about };
}

/** Returns the request of a webhook. The body names the changed entry, but contains none of its values. */
export async function webhookOf(deps: Deps, url: string, delivery: Delivery): Promise<WebhookRequest> {
  const { live, hook, event } = delivery;
  const secrets = await secretsOf(deps, live.orb, hook.id);
  const id = deliveryId(delivery);
  const timestamp = String(Math.floor(deps.clock.now() / 1000));
  const { at, about } = dataOf(delivery);
  const body = JSON.stringify({ type: event, timestamp: at, data: { hook: hook.id, ...about } });
  const signatures = secrets.map((secret) => sign(secret, `${id}.${timestamp}.${body}`));
  return {
    url,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": (await Promise.all(signatures)).join(" "),
    },
    body,
  };
}

async function sign(secret: Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  const signature = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`;
}
