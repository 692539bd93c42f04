/** What the platform tells about the requests to an orb: errors, slow lists, and how much it stores. */
import { beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { orbCommand } from "../support/orb-command.ts";
import { createOrb } from "../support/orbs.ts";
import { createToken, scope } from "../support/tokens.ts";

const { platform, token: root, as } = await fileAdmin();
const ORB = "asked";
const PATHS = [`/api/admin/orbs/${ORB}/usage`, `/api/_orbs/${ORB}/usage`];

beforeAll(async () => {
  await createOrb(platform, root, {
    id: ORB,
    modules: [
      {
        id: "news",
        type: "CONTENT",
        schemas: [
          {
            id: "article",
            access: { read: "public", write: "admin" },
            fields: [{ name: "title", type: "string", required: true }],
          },
        ],
      },
    ],
  });
});

interface Usage {
  requests: number;
  failed: number;
  errors: { code: string; route: string; status: number; count: number; requestId: string }[];
}

test("counts requests and errors by code and route, at both addresses, with the id of a request", async () => {
  await call(platform, "GET", `/api/${ORB}/news`);
  const refused = await call(platform, "POST", `/api/${ORB}/news`, {
    body: { values: { title: "a secret" } },
  });
  expect(refused.status).toBe(401);
  const invalid = await as("POST", `/api/${ORB}/news`, { values: { name: "a secret" } });
  expect(invalid.status).toBe(422);
  await call(platform, "GET", `/api/${ORB}/news/article/missing`);
  for (const path of PATHS) {
    const { status, body } = await as("GET", path);
    expect(status).toBe(200);
    const { requests, failed, errors } = body as Usage;
    expect(requests).toBeGreaterThanOrEqual(4);
    const told = errors.map((error) => `${error.status} ${error.code} ${error.route} ${error.count}`).sort();
    expect(told).toEqual([
      "401 authentication_required /api/{orbId}/{moduleId}/{schemaId} 1",
      "404 entry_not_found /api/{orbId}/{moduleId}/{schemaId}/{id} 1",
      "422 validation_failed /api/{orbId}/{moduleId}/{schemaId} 1",
    ]);
    expect(failed).toBe(3);
    expect(errors.find((error) => error.status === 422)?.requestId).toBe(invalid.headers.get("x-request-id"));
    expect(JSON.stringify(body)).not.toContain("secret");
  }
});

test("refuses callers without the right, unknown orbs and wrong hours", async () => {
  const [path = ""] = PATHS;
  expect((await call(platform, "GET", path)).status).toBe(401);
  const reader = await createToken(platform, "/api/_auth", root, [scope(ORB, "read")]);
  const other = await createToken(platform, "/api/_auth", root, [scope("another", "read")]);
  expect((await as("GET", path, undefined, reader.token)).status).toBe(200);
  expect((await as("GET", path, undefined, other.token)).status).toBe(403);
  expect((await as("GET", "/api/admin/orbs/never-made/usage")).status).toBe(404);
  for (const hours of ["0", "169", "x"]) expect((await as("GET", `${path}?hours=${hours}`)).status).toBe(400);
});

test("orb usage prints the counts, and all of them as JSON", async () => {
  const orb = await orbCommand(platform.origin, root);
  expect((await as("DELETE", `/api/${ORB}/news/article/gone`)).status).toBe(404);
  const shown = await orb.run("usage", ORB, "--hours", "2");
  expect(shown.code, shown.err).toBe(0);
  expect(shown.out).toMatch(/^Since \S+: \d+ requests, \d+ of them failed\.$/m);
  expect(shown.out).toMatch(
    /^1 × 404 entry_not_found {2}DELETE \/api\/\{orbId\}\/\{moduleId\}\/\{schemaId\}\/\{id\} /m,
  );
  const json = JSON.parse((await orb.run("usage", ORB, "--json")).out) as {
    storage: object;
    hours: unknown[];
  };
  expect(json.storage).toMatchObject({ entries: 0, fileBytes: 0 });
  expect((await orb.run("usage", ORB, "--hours", "999")).code).toBe(1);
});
