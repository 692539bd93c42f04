import { expect } from "vitest";
import { call as request } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";

export type Field = { name: string; type: string } & Record<string, unknown>;
/** The only field of the entries. */
export const title: Field = { name: "title", type: "string" };

/**
 * Orbs whose definitions change while they have entries.
 * @param prefix beginning of the orbs' ids
 * @param document creates the document with these fields in `news/article`
 * @param access the platform and an admin's token
 */
export function evolving(
  prefix: string,
  document: (id: string, fields: Field[]) => object,
  access: () => { platform: TestPlatform; token: string },
) {
  let number = 0;
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const { platform, token } = access();
    return request(platform, method, path, { token, headers, ...(body === undefined ? {} : { body }) });
  };
  return {
    call,
    /** Creates a published orb with published entries. */
    async withEntries(fields: Field[], entries: object[]) {
      const id = `${prefix}-${++number}`;
      expect((await call("POST", "/api/admin/orbs?publish=true", document(id, fields))).status).toBe(201);
      const path = `/api/admin/orbs/${id}`;
      const ids: string[] = [];
      for (const values of entries) {
        const made = await call("POST", `${path}/entries?publish=true`, { module: "news", values });
        expect(made.body).toMatchObject({ status: "PUBLISHED" });
        ids.push(made.body.id);
      }
      return { id, path, ids };
    },
  };
}
