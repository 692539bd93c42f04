/** What fields say about their values to people: messages of patterns, and forms of numbers. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;

const message = {
  en: "must be two letters",
  de: "muss zwei Buchstaben haben",
  "pt-BR": "deve ter duas letras",
};
const DOCUMENT = {
  id: "forms",
  languages: ["de", "en"],
  modules: [
    {
      id: "cars",
      type: "CONTENT",
      schemas: [
        {
          id: "car",
          fields: [
            { name: "plate", type: "string", pattern: "^[a-z]{2}$", message },
            {
              name: "code",
              type: "string",
              pattern: "^\\d+$",
              message: "must be digits",
              translatable: true,
            },
            { name: "tags", type: "string", list: true, pattern: "^[a-z]+$", message },
            { name: "plain", type: "string", pattern: "^a" },
            { name: "built", type: "integer", format: "plain" },
          ],
        },
      ],
    },
    {
      id: "wishes",
      type: "SETTINGS",
      schemas: [{ id: "wish", fields: [{ name: "plate", type: "string", pattern: "^[a-z]{2}$", message }] }],
    },
  ],
  uses: [{ service: "settings", handlers: ["get", "set"] }],
};

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  await createOrb(platform, token, DOCUMENT);
});

const plate = async (query: string, accept?: string) => {
  const headers = accept === undefined ? {} : { "accept-language": accept };
  const { body } = await call(platform, "POST", `/api/forms/cars${query}`, {
    token,
    headers,
    body: { values: { plate: "ABC" } },
  });
  return body.errors[0];
};

test.each([
  ["", undefined, message.de],
  ["", "en-GB,de;q=0.5", message.en],
  ["", "fr, pt;q=0.9, en;q=0.5", message["pt-BR"]],
  ["?locale=en", "de", message.en],
  ["?locale=*", "en", message.en],
])("answers the message of a pattern for %j and the languages %j", async (query, accept, expected) => {
  const error = await plate(query, accept);
  expect(error).toEqual({ path: "/values/plate", code: "pattern", message: expected });
});

test("answers messages for items, languages, rows and settings, and the pattern if there is none", async () => {
  const values = { code: { en: "x" }, tags: ["a", "B"], plain: "b" };
  const one = await call(platform, "POST", "/api/forms/cars", { token, body: { values } });
  expect(one.body.errors).toEqual([
    { path: "/values/code/en", code: "pattern", message: "must be digits" },
    { path: "/values/tags/1", code: "pattern", message: message.de },
    { path: "/values/plain", code: "pattern", message: "must match the pattern ^a" },
  ]);
  const rows = await fetch(`${platform.origin}/api/admin/orbs/forms/entries/bulk`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/x-ndjson",
      "accept-language": "en",
    },
    body: `${JSON.stringify({ module: "cars", values: { plate: "1" } })}\n`,
  });
  expect(await rows.text()).toContain(message.en);
  const setting = await call(platform, "POST", "/api/forms/set", {
    token,
    headers: { "accept-language": "en" },
    body: { scope: "application", values: { plate: "1" } },
  });
  expect(JSON.stringify(setting.body)).toContain(message.en);
});

test("tells clients of a message and a form", async () => {
  const { body } = await call(platform, "GET", "/api/discovery");
  const fields = body.orbs.find(({ id }: { id: string }) => id === "forms").modules[0].schemas[0].fields as {
    name: string;
  }[];
  const named = (name: string) => fields.find((field) => field.name === name);
  expect(named("plate")).toMatchObject({ message });
  expect(named("built")).toMatchObject({ format: "plain" });
  expect(named("plain")).not.toHaveProperty("message");
  const described = await call(platform, "GET", "/api/openapi?orb=forms");
  expect(JSON.stringify(described.body.components.schemas)).toContain(`Pattern: ${message.de}.`);
});
