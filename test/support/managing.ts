import { expect } from "vitest";
import { call as request } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";

type Options = { body?: unknown; headers?: Record<string, string> };

/**
 * Returns functions with which a platform admin manages orbs over HTTP.
 * @param prefix beginning of the orbs' ids
 * @param access returns the platform and the token of an admin
 */
export function managing(prefix: string, access: () => { platform: TestPlatform; token: string }) {
  let number = 0;
  const call = (method: string, path: string, options: Options = {}) => {
    const { platform, token } = access();
    return request(platform, method, path, { token, ...options });
  };
  /** Returns a small document with a unique id. */
  const orb = (more: object = {}) => {
    number++;
    return {
      id: `${prefix}-${number}`,
      modules: [
        {
          id: "news",
          type: "CONTENT",
          schemas: [{ id: "article", fields: [{ name: "title", type: "string" }] }],
        },
      ],
      ...more,
    };
  };
  return {
    call,
    orb,
    /** Creates an orb. Returns its document, its path and the response. */
    async created(more: object = {}, query = "") {
      const document = orb(more);
      const answer = await call("POST", `/api/admin/orbs${query}`, { body: document });
      expect(answer.body).toMatchObject({ id: document.id });
      expect(answer.status).toBe(201);
      return { document, path: `/api/admin/orbs/${document.id}`, answer };
    },
  };
}
