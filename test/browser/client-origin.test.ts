/** The client on a page of another origin, as in an application that is not served by the platform. */
import { createServer } from "node:http";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import type { createClient } from "../../shared/client/index.ts";
import { adminToken, call } from "../support/auth.ts";
import { launchChromium, type TestBrowser } from "../support/browser.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

declare const client: { createClient: typeof createClient };

interface Shown {
  shown?: string[];
}

let chromium: TestBrowser;
const page = { origin: "", server: createServer() };

/** Serves an empty page that loads the client as a module, without a bundler. */
async function servePage(): Promise<void> {
  const built = await build({
    entryPoints: ["shared/client/index.ts"],
    bundle: true,
    format: "esm",
    write: false,
  });
  const script = built.outputFiles[0]?.text ?? "";
  const html = `<!doctype html><title>App</title><script type="module">
    import * as all from "/client.js";
    globalThis.client = all;
  </script>`;
  page.server.on("request", ({ url }, response) => {
    const isScript = url === "/client.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : html);
  });
  const port = await freePort();
  page.origin = `http://localhost:${port}`;
  await new Promise<void>((resolve) => page.server.listen(port, "localhost", resolve));
}

beforeAll(async () => {
  [chromium] = await Promise.all([launchChromium(), servePage()]);
});
afterAll(async () => {
  page.server.closeAllConnections();
  page.server.close();
  await chromium?.[Symbol.asyncDispose]();
});

async function newOrb(platform: TestPlatform): Promise<void> {
  const fields = [
    { name: "text", type: "text" },
    { name: "image", type: "file" },
  ] as const;
  const access = { read: "user", write: "user" } as const;
  await createOrb(platform, await adminToken(platform), {
    id: "notes",
    access: { signup: "open" },
    uses: [{ service: "access", handlers: ["passkey"] }],
    modules: [{ id: "all", type: "CONTENT", schemas: [{ id: "note", access, fields: [...fields] }] }],
  });
}

describe.each([
  ["with a streams process", true],
  ["without one", false],
] as const)("%s", (_, streams) => {
  let platform: TestPlatform;
  beforeAll(async () => {
    platform = await startPlatform({ streams, env: { ALLOWED_ORIGINS: page.origin } });
    await newOrb(platform);
  });
  afterAll(() => platform?.stop());

  test("signs up, keeps its session over a reload, follows lists, sends files and signs out", async () => {
    const { page: tab } = await chromium.page();
    tab.setDefaultTimeout(30_000);
    const errors: string[] = [];
    tab.on("pageerror", (error) => errors.push(String(error)));
    const load = async () => {
      await tab.goto(page.origin);
      await tab.waitForFunction("globalThis.client !== undefined");
    };
    await load();
    const url = platform.origin;
    await tab.evaluate(async (at) => {
      const all = client.createClient({ url: at, credentials: "include" });
      await all.register({ realm: "notes", name: "Ann" });
    }, url);

    await load();
    const { read, written, file } = await tab.evaluate(async (at) => {
      const all = client.createClient({ url: at, credentials: "include" });
      const notes = all.orb("notes").all?.note;
      if (notes === undefined) throw new Error("no notes");
      const { id } = await all
        .files("notes")
        .upload(new Blob(["hello"], { type: "text/plain" }), { name: "a.txt" });
      const { id: written } = await notes.create({ text: "first", image: { file: id } }, { publish: true });
      const read = (await notes.list()).items.map(({ values }) => values.text);
      return { read, written, file: await (await all.files("notes").download(id)).text() };
    }, url);
    expect({ read, file }).toEqual({ read: ["first"], file: "hello" });

    await tab.evaluate((at) => {
      const all = client.createClient({ url: at, credentials: "include" });
      const notes = all.orb("notes").all?.note;
      notes?.live({}, (items) => {
        (globalThis as Shown).shown = items.map(({ values }) => String(values.text));
      });
    }, url);
    const token = await adminToken(platform);
    const body = { values: { text: "second" } };
    await call(platform, "POST", "/api/notes/all/note?publish=true", { token, body });
    await tab.waitForFunction('globalThis.shown?.join() === "first,second"');

    const after = await tab.evaluate(
      async ({ at, id }) => {
        const all = client.createClient({ url: at, credentials: "include" });
        await all.signOut({ realm: "notes" });
        const error: unknown = await all
          .orb("notes")
          .all?.note?.get(id)
          .catch((reason: unknown) => reason);
        return Reflect.get(Object(error), "status") as unknown;
      },
      { at: url, id: written },
    );
    expect(after).toBe(401);
    expect(errors).toEqual([]);
    await tab.context().close();
  });

  test("sends no cookie without the option, and none from an origin that is not allowed", async () => {
    const { page: tab } = await chromium.page();
    await tab.goto(page.origin);
    await tab.waitForFunction("globalThis.client !== undefined");
    const statuses = await tab.evaluate(async (at) => {
      const all = client.createClient({ url: at, credentials: "include" });
      await all.register({ realm: "notes", name: "Ben" });
      const statusWith = async (credentials: "include" | "same-origin") => {
        const notes = client.createClient({ url: at, credentials }).orb("notes").all?.note;
        const error: unknown = await notes?.list().then(
          () => ({ status: 200 }),
          (reason: unknown) => reason,
        );
        return Reflect.get(Object(error), "status") as unknown;
      };
      return [await statusWith("include"), await statusWith("same-origin")];
    }, platform.origin);
    expect(statuses).toEqual([200, 401]);
    await tab.context().close();
  });
});
