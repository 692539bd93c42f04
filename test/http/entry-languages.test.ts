/** The query parameter `locales` of publications, in both APIs and in the client. */
import { expect, test } from "vitest";
import { createClient } from "../../shared/client/index.ts";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform } from "../support/platform.ts";

interface Tongues {
  site: { page: { publish(id: string, options: { locales: string[] }): Promise<unknown> } };
}

test("publishes some languages of a draft through both APIs, the client, and a change set", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const as = async (method: string, path: string, body?: unknown) => {
    const answer = await call(platform, method, path, { token, ...(body === undefined ? {} : { body }) });
    return { status: answer.status, body: answer.body };
  };
  const fields = [{ name: "title", type: "string", translatable: true }];
  const orb = {
    id: "tongues",
    languages: ["en", "de", "fr"],
    modules: [
      { id: "site", type: "CONTENT", schemas: [{ id: "page", access: { read: ["public"] }, fields }] },
    ],
  };
  expect((await as("POST", "/api/admin/orbs?publish=true", orb)).status).toBe(201);
  const pages = "/api/tongues/site/page";
  const all = (text: string) => ({ en: text, de: `${text} de`, fr: `${text} fr` });
  const { id } = (await as("POST", `${pages}?publish=true`, { values: { title: all("Old") } })).body;
  const draft = (text: string) => as("PATCH", `${pages}/${id}`, { values: { title: all(text) } });
  const live = async () => (await call(platform, "GET", `${pages}/${id}?locale=*`)).body.values.title;

  await draft("A");
  expect(await as("POST", `${pages}/${id}/publish?locales=de`)).toMatchObject({ status: 200 });
  expect(await live()).toEqual({ en: "Old", de: "A de", fr: "Old fr" });
  expect(await as("POST", `/api/admin/orbs/tongues/entries/${id}/publish?locales=fr,en`)).toMatchObject({
    status: 200,
    body: { status: "PUBLISHED" },
  });
  expect(await live()).toEqual(all("A"));

  await draft("B");
  const client = createClient({ url: platform.origin, token });
  await (client.orb("tongues") as unknown as Tongues).site.page.publish(id, { locales: ["de"] });
  expect(await live()).toEqual({ ...all("A"), de: "B de" });

  const { id: set } = (await as("POST", "/api/tongues/changes", { title: "French" })).body;
  expect(await as("POST", `${pages}/${id}/publish?locales=fr&change=${set}`)).toMatchObject({ status: 200 });
  expect(await live()).toEqual({ ...all("A"), de: "B de" });
  expect(await as("POST", `/api/tongues/changes/${set}/publish`, {})).toMatchObject({ status: 200 });
  expect(await live()).toEqual({ en: "A", de: "B de", fr: "B fr" });

  for (const path of [pages, "/api/admin/orbs/tongues/entries"])
    for (const locales of ["it", "", "de,"])
      expect(await as("POST", `${path}/${id}/publish?locales=${locales}`)).toMatchObject({
        status: 400,
        body: { code: "invalid_parameter", errors: [{ path: "/locales" }] },
      });
  expect(await as("POST", `${pages}/${id}/unpublish?locales=de`)).toMatchObject({ status: 400 });
});
