/** API tokens with the scope `propose`: they write into change sets, and nothing that readers see. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let root: string;
/** Tokens of an owner of the orb and of a platform admin, each with `read` and `propose`. */
let agents: Record<"owner" | "platform", string>;
let page: string;

const as = (token: string, method: string, path: string, body?: unknown) =>
  call(platform, method, path, { token, ...(body === undefined ? {} : { body }) });

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
  const made = await as(root, "POST", "/api/admin/orbs?publish=true", {
    id: "agents",
    uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
    modules: [
      {
        id: "pages",
        type: "CONTENT",
        schemas: [{ id: "page", fields: [{ name: "title", type: "string", unique: true }] }],
      },
    ],
  });
  expect(made.status).toBe(201);
  const owner = await user(platform, "agents", "owner");
  const can = [scope("agents", "read", "propose")];
  agents = {
    owner: (await createToken(platform, "/api/agents", owner.token, can)).token,
    platform: (await createToken(platform, "/api/_auth", root, can)).token,
  };
  page = (await as(root, "POST", "/api/agents/pages?publish=true", { values: { title: "first" } })).body.id;
});

const within = (path: string, set: string) => `${path}${path.includes("?") ? "&" : "?"}change=${set}`;

/** Requests that would change what the orb contains, if they were carried out. */
function attempts(set: string): [method: string, path: string, body?: unknown][] {
  const values = { values: { title: "hacked" } };
  const entry = `/api/agents/pages/${page}`;
  const managed = `/api/admin/orbs/agents/entries/${page}`;
  const move = (path: string) => ["publish", "unpublish", "archive", "restore"].map((to) => `${path}/${to}`);
  const batch = { do: [{ update: `pages/page/${page}`, ...values, publish: true }] };
  const plain: [string, string, unknown?][] = [
    ["POST", "/api/agents/pages", values],
    ["PUT", entry, values],
    ["PATCH", entry, values],
    ["DELETE", entry],
    ["PATCH", "/api/agents/pages?all=true", values],
    ["DELETE", "/api/agents/pages?all=true"],
    ["PUT", "/api/agents/pages/by/title/first", values],
    ["DELETE", "/api/agents/pages/by/title/first"],
    ["POST", `${entry}/revisions/1/restore`],
    ["POST", "/api/agents/batch", batch],
    ["POST", "/api/admin/orbs/agents/batch", batch],
    ["POST", "/api/admin/orbs/agents/entries", { module: "pages", ...values }],
    ["PUT", managed, values],
    ["PATCH", managed, values],
    ["DELETE", managed],
    ["DELETE", `${managed}?purge=true`],
    ["POST", `${managed}/revisions/1/restore`],
    ["PATCH", "/api/admin/orbs/agents/entries?all=true", values],
    ["DELETE", "/api/admin/orbs/agents/entries?all=true"],
    ...[...move(entry), ...move(managed)].map((path): [string, string] => ["POST", path]),
  ];
  const isInSet = (path: string) => !/purge=true|\/batch|\/revisions\//.test(path);
  return [
    ...plain,
    // With a set, only the routes that write into one carry out the request.
    ...plain
      .filter(([, path]) => !isInSet(path))
      .map(([method, path, body]): [string, string, unknown?] => [method, within(path, set), body]),
    ...plain
      .filter(([, path]) => isInSet(path))
      .map(([method, path, body]): [string, string, unknown?] => [
        method,
        `${within(path, set)}&publish=true`,
        body,
      ]),
    ["POST", `/api/agents/changes/${set}/approve`, {}],
    ["POST", `/api/agents/changes/${set}/reject`, { comment: "No" }],
    ["POST", `/api/agents/changes/${set}/publish`, {}],
    ["PATCH", "/api/admin/orbs/agents", { name: "Hacked" }],
  ];
}

test.each(["owner", "platform"] as const)(
  "a token of the %s writes into a set, and nowhere else",
  async (who) => {
    const agent = agents[who];
    const opened = await as(agent, "POST", "/api/agents/changes", { title: "Titles" });
    expect([opened.status, opened.body.token]).toEqual([201, expect.any(String)]);
    const set = opened.body.id;
    const stored = async () =>
      (await as(root, "GET", `/api/admin/orbs/agents/entries?module=pages`)).body.items;
    const before = await stored();
    const into = who === "owner" ? `/api/agents/pages/${page}` : `/api/admin/orbs/agents/entries/${page}`;
    const proposed = await as(agent, "PATCH", `${into}?change=${set}`, { values: { title: `by ${who}` } });
    expect([proposed.status, proposed.body.code]).toEqual([200, undefined]);
    const more = await as(agent, "POST", `/api/agents/pages?change=${set}`, {
      values: { title: `new ${who}` },
    });
    expect([more.status, more.body.code]).toEqual([201, undefined]);
    const seen = await as(agent, "GET", `/api/agents/pages/${page}?change=${set}`);
    expect(seen.body.values).toEqual({ title: `by ${who}` });
    for (const [method, path, body] of attempts(set)) {
      const { status } = await as(agent, method, path, body);
      expect([`${method} ${path}`, [400, 403, 422].includes(status), status]).toEqual([
        `${method} ${path}`,
        true,
        expect.any(Number),
      ]);
    }
    const many = who === "owner" ? "/api/agents/pages?all=true" : "/api/admin/orbs/agents/entries?all=true";
    for (const method of ["PATCH", "DELETE"]) {
      const { status } = await as(agent, method, within(many, set), { values: { title: `all of ${who}` } });
      expect([method, status]).toEqual([method, 200]);
    }
    expect(await stored()).toEqual(before);
    const asked = await as(agent, "POST", `/api/agents/changes/${set}/review`);
    expect([asked.status, asked.body.state]).toEqual([200, "IN_REVIEW"]);
    const commented = await as(agent, "POST", `/api/agents/changes/${set}/comments`, { text: "Ready" });
    expect(commented.status).toBe(201);
  },
);
