import type { Store } from "../../shared/store/types.ts";
import { Failure } from "../process/failure.ts";
import { inspectCertificate } from "./certificate.ts";
import { isRecentEnough, RECENT_ENOUGH } from "./version.ts";

/** Returns the hosts in the setting NATS_URL, without credentials. */
export function hostsOf(url: string): string {
  return url
    .split(",")
    .map((one) => new URL(one).host)
    .join(", ");
}

function words(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  const cause = error.cause === undefined ? "" : words(error.cause);
  return `${code} ${error.message} ${cause}`;
}

/** A failure that only the operator can fix, so waiting for the broker does not help. */
export class LastingFailure extends Failure {}

/**
 * Returns why a connection to the broker failed. Examines the certificate too, because a WebSocket error does not say
 * that it was refused.
 */
async function unreachable(url: string, cause: unknown): Promise<Failure> {
  const encrypted = url.split(",").filter((one) => one.trim().startsWith("wss:"));
  const reports = await Promise.all(encrypted.map((one) => inspectCertificate(one.trim())));
  const faults = reports.flatMap(({ fault }) => (fault === undefined ? [] : [fault]));
  const fault = faults.find(({ presented }) => presented) ?? faults[0];
  const certificate = fault === undefined ? "" : ` ${fault.says} ${fault.remedy}`;
  const message = `The broker at ${hostsOf(url)} cannot be reached.${certificate || " Check NATS_URL and that its WebSocket listener runs."}`;
  // If every server presented a certificate and none of them can be used, waiting does not help. A server without a
  // certificate may still be starting.
  const servers = url.split(",").length;
  const lasting = faults.filter(({ presented }) => presented).length === servers;
  return lasting ? new LastingFailure(message, { cause }) : new Failure(message, { cause });
}

/** Checks that the broker responds, accepts the credentials, is recent enough and has JetStream. */
export async function checkBroker(store: Store, url: string): Promise<void> {
  const address = hostsOf(url);
  let server: { version: string };
  try {
    server = await store.server();
  } catch (error) {
    if (/authoriz|authentic/i.test(words(error))) {
      throw new LastingFailure(
        `The broker at ${address} rejects the credentials. Check NATS_USER and NATS_PASS, NATS_TOKEN or NATS_CREDS.`,
      );
    }
    throw await unreachable(url, error);
  }
  if (!isRecentEnough(server.version)) {
    throw new LastingFailure(
      `The broker at ${address} is nats-server ${server.version}, but ${RECENT_ENOUGH} is needed. Update it.`,
    );
  }
  try {
    await store.streamInfo("platform");
  } catch (error) {
    throw new Failure(
      `The broker at ${address} has no JetStream for this user. Enable it with nats-server -js or "jetstream {}" in its configuration.`,
      { cause: error },
    );
  }
}
