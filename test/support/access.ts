import { beforeEach } from "vitest";
import { generateKeys } from "../../scripts/config/secrets.ts";
import type { Deps } from "../../shared/deps.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { fileDeps, testDeps } from "./entries.ts";

/** Origin for which the passkeys of {@link fileAccess} are valid. */
export const ORIGIN = "http://localhost:8787";

/** Starts a broker for a file of tests that register and sign in. Each test starts with unused rate limits. */
export async function fileAccess() {
  const { broker, store } = await fileDeps();
  const generated = await generateKeys();
  const config: Partial<Deps["config"]> = {
    jwtSigningKeys: generated.JWT_SIGNING_KEYS,
    encryptionKeys: generated.ENCRYPTION_KEYS,
    publicUrl: ORIGIN,
  };
  beforeEach(async () => {
    await broker.store("operator").purge(streams.limits, ">");
  });
  return {
    broker,
    store,
    deps: (over: Store = store, more: Partial<Deps["config"]> = {}) => testDeps(over, { ...config, ...more }),
  };
}
