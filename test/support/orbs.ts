import { readFileSync } from "node:fs";
import { call } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";

/** The example orb of the README. */
export const shop = JSON.parse(
  readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"),
) as Record<string, unknown>;

/** An orb with one schema and one field. */
export const small = (id: string) => ({
  id,
  modules: [
    { id: "news", type: "CONTENT", schemas: [{ id: "post", fields: [{ name: "title", type: "string" }] }] },
  ],
});

/** Creates an orb over HTTP as a platform admin. */
export async function createOrb(
  platform: Pick<TestPlatform, "origin">,
  token: string,
  document: unknown,
  publish = true,
): Promise<void> {
  const path = `/api/admin/orbs${publish ? "?publish=true" : ""}`;
  const answer = await call(platform, "POST", path, { token, body: document });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
}
