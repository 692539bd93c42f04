import type { Store } from "../../shared/store/types.ts";
import { Failure } from "../process/failure.ts";
import { isRecentEnough, MINIMUM } from "./version.ts";

/** Every code and message in an error and its causes. */
function words(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  const cause = error.cause === undefined ? "" : words(error.cause);
  return `${code} ${error.message} ${cause}`;
}

/**
 * Makes sure that a broker can carry the platform: it answers, takes the credentials, is recent enough and has
 * JetStream.
 * @param address for the messages; it must hold no credentials
 * @throws Failure in one line
 */
export async function checkBroker(store: Store, address: string): Promise<void> {
  let server: { version: string };
  try {
    server = await store.server();
  } catch (error) {
    if (/authoriz|authentic/i.test(words(error))) {
      throw new Failure(
        `The broker at ${address} refuses the credentials: check NATS_USER and NATS_PASS, NATS_TOKEN or NATS_CREDS.`,
      );
    }
    throw new Failure(
      `The broker at ${address} cannot be reached: check NATS_URL and that its WebSocket listener runs.`,
      {
        cause: error,
      },
    );
  }
  if (!isRecentEnough(server.version)) {
    throw new Failure(
      `The broker at ${address} is nats-server ${server.version}: ${MINIMUM} or newer is needed.`,
    );
  }
  try {
    await store.streamInfo("platform");
  } catch (error) {
    throw new Failure(
      `The broker at ${address} has no JetStream for this user: enable it (nats-server -js, or "jetstream {}" in its configuration).`,
      { cause: error },
    );
  }
}
