/** What the command `orb migrate-from` makes of roles. */
import { expect, test } from "vitest";
import { documentOf } from "../../scripts/cli/migrate/document.ts";
import { fitDocument } from "../../scripts/cli/migrate/fit.ts";
import { accessOf, type Right, rolesOf } from "../../scripts/cli/migrate/model/rights.ts";
import type { Loss } from "../../scripts/cli/migrate/model/source.ts";
import { Model } from "../../scripts/cli/migrate/systems/strapi/model.ts";
import { checkDocument } from "../../shared/definition/check/check.ts";

test.each<[string, string[], Record<string, unknown> | undefined]>([
  ["nothing", [], undefined],
  ["all readers", ["public read", "editors read"], { read: "public" }],
  ["readers with an account", ["user read", "editors read"], { read: "user" }],
  ["roles that read", ["editors read", "writers read"], { read: ["editors", "writers"] }],
  [
    "writers",
    ["user read", "editors create", "user update"],
    { read: "user", create: ["editors"], update: ["user"], publish: ["user"] },
  ],
  ["writers without an account", ["public delete", "editors delete"], { delete: ["editors"] }],
])("makes access rules of %s", (_, rights, access) => {
  const all = rights.map((text): Right => {
    const [caller = "", act = ""] = text.split(" ");
    return { caller, act: act as Right["act"] };
  });
  const told: string[] = [];
  expect(accessOf(all, false, ({ act }) => told.push(act))).toEqual(access);
  expect(told).toEqual(rights.includes("public delete") ? ["delete"] : []);
});

test("gives roles ids that an orb allows, and tells those for which there is no room", () => {
  const losses: Loss[] = [];
  const names = [
    "Editors",
    "Chef d'équipe",
    "editors",
    "Admin",
    "7",
    ...Array.from({ length: 46 }, (_, at) => `R${at}`),
  ];
  const roles = rolesOf(
    names.map((name, at) => ({ id: String(at), name })),
    losses,
  );
  expect([...roles.values()].slice(0, 4)).toEqual([
    { id: "editors", name: "Editors" },
    { id: "chef-d-equipe", name: "Chef d'équipe" },
    { id: "editors-2", name: "editors" },
    { id: "source-admin", name: "Admin" },
  ]);
  expect(roles.size).toBe(50);
  expect(losses).toMatchObject([{ at: "role R45", became: "left out" }]);
  expect(new Set([...roles.values()].map(({ id }) => id)).size).toBe(50);
});

test("carries the roles of Strapi with what they may do", async () => {
  const enabled = (...names: string[]) => ({
    permissions: {
      "api::post": {
        controllers: { post: Object.fromEntries(names.map((name) => [name, { enabled: true }])) },
      },
    },
  });
  const model = new Model({
    types: [
      {
        uid: "api::post.post",
        schema: {
          singularName: "post",
          pluralName: "posts",
          kind: "collectionType",
          attributes: { title: { type: "string" } },
        },
      },
    ],
    components: [],
    everyone: enabled("create"),
    users: enabled("find"),
    roles: [
      { id: "3", name: "Editors", rights: enabled("find", "findOne", "create", "update") },
      { id: "4", name: "Guests", rights: enabled("findOne") },
    ],
  });
  const source = { document: model.document(["en"]), losses: model.losses, async *entries() {} };
  const document = documentOf("shop", source, await fitDocument(source, ["post"]), "public");
  expect(document.modules).toMatchObject([
    {
      schemas: [
        { access: { read: ["editors"], create: ["editors"], update: ["editors"], publish: ["editors"] } },
      ],
    },
  ]);
  expect(document.roles).toEqual([
    { id: "editors", name: "Editors" },
    { id: "guests", name: "Guests" },
  ]);
  expect(() => checkDocument(document)).not.toThrow();
  const lines = model.losses.map(({ at, became }) => `${at}: ${became}`);
  expect(lines).toContain("role Editors, its accounts: the role: invite people with it");
  expect(lines).toContain("content type api::post.post, create for Public: only accounts may");
});

test("gives the right to change entries only to those who may read all of them", () => {
  const told: string[] = [];
  const published: Right = { caller: "public", act: "read", isPublishedOnly: true };
  const update: Right = { caller: "editors", act: "update" };
  expect(accessOf([published, update], false, ({ caller, act }) => told.push(`${caller} ${act}`))).toEqual({
    read: "public",
  });
  expect(told).toEqual(["editors update"]);
  expect(accessOf([], true, () => undefined)).toEqual({ read: "admin" });
});
