import { beforeEach } from "vitest";
import { streams } from "../../shared/store/subjects.ts";
import { adminToken, call } from "./auth.ts";
import { sharedPlatform, type TestPlatform, type TestPlatformOptions } from "./platform.ts";

/**
 * Returns a platform with an admin for all tests of a file.
 * @param options give the file a platform of its own, as those of {@link sharedPlatform}
 */
export async function fileAdmin(options?: TestPlatformOptions) {
  const platform = await sharedPlatform(options);
  const token = await adminToken(platform);
  return {
    platform,
    token,
    store: platform.operatorStore(),
    /** Sends a request, by default with the admin's token. */
    as: (method: string, path: string, body?: unknown, by = token) =>
      call(platform, method, path, { token: by, ...(body === undefined ? {} : { body }) }),
  };
}

/** Clears all rate limits before each test, because all tests of a file share one client address. */
export function clearLimits(platform: TestPlatform): void {
  beforeEach(async () => {
    const store = platform.operatorStore();
    await Promise.all([
      store.purge(streams.limits, "_limit.>"),
      store.purge(streams.quotas, "_quota.>"),
      store.purge(streams.longQuotas, "_quota.>"),
    ]);
  });
}
