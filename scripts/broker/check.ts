import type { Store } from "../../shared/store/types.ts";
import { Failure } from "../process/failure.ts";
import { isRecentEnough, MINIMUM } from "./version.ts";

/** Returns every code and message of an error and its causes. */
function words(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  const cause = error.cause === undefined ? "" : words(error.cause);
  return `${code} ${error.message} ${cause}`;
}

/**
 * Checks that a broker is usable: it responds, accepts the credentials, is recent enough and has JetStream.
 * @param address address for messages; must not contain credentials
 * @throws Failure with one line
 */
export async function checkBroker(store: Store, address: string): Promise<void> {
  let server: { version: string };
  try {
    server = await store.server();
  } catch (error) {
    if (/authoriz|authentic/i.test(words(error))) {
      throw new Failure(
        `The broker at ${address} rejects the credentials. Check NATS_USER and NATS_PASS, NATS_TOKEN or NATS_CREDS.`,
      );
    }
    throw new Failure(
      `The broker at ${address} cannot be reached. Check NATS_URL and that its WebSocket listener runs.`,
      {
        cause: error,
      },
    );
  }
  if (!isRecentEnough(server.version)) {
    throw new Failure(
      `The broker at ${address} is nats-server ${server.version}, but ${MINIMUM} or newer is needed. Update it.`,
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
