import { expect } from "vitest";
import { call } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";

/**
 * Returns functions that send requests: `ask` returns the answer, and `send` the body of an answer that must be
 * successful.
 * @param access returns the platform and the token of the caller
 */
export function sending(access: () => { platform: TestPlatform; token: string }) {
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const { platform, token } = access();
    return call(platform, method, path, { token, headers, ...(body === undefined ? {} : { body }) });
  };
  const send = async (...request: Parameters<typeof ask>) => {
    const answer = await ask(...request);
    const [method, path] = request;
    expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };
  return { ask, send };
}
