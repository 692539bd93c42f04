import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const shop = JSON.parse(
  readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"),
) as Record<string, unknown>;

let platform: TestPlatform;
let token: string;

async function publish(document: unknown): Promise<void> {
  const answer = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
}

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

test("the description is valid, before and after an orb is published", async () => {
  const before = await call(platform, "GET", "/api/openapi");
  expect(before.status).toBe(200);
  expect(await new Validator().validate(before.body)).toMatchObject({ valid: true });
  await publish(shop);
  const after = await call(platform, "GET", "/api/openapi");
  const { valid, errors } = await new Validator().validate(after.body);
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
});
