import { expect, test } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { serveBeside } from "../support/near.ts";
import { sharedPlatform } from "../support/platform.ts";
import { startExample } from "../support/services.ts";

test("serves remote and built-in handlers in the Node host, with a thousand calls at once", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const ann = await user(platform);
  const served = await serveBeside(platform);
  const host = { ...platform, origin: served.url };
  try {
    await using _greeter = await startExample(platform, "greeter.mjs");
    const document = {
      id: "hosted",
      uses: [
        { service: "greeter", handlers: ["hello"] },
        { service: "transactions", handlers: ["record", "list"] },
        { service: "settings", handlers: ["get", "set"] },
        { service: "rules", handlers: ["evaluate"] },
      ],
      modules: [
        {
          id: "orders",
          type: "TRANSACTIONS",
          schemas: [{ id: "order", fields: [{ name: "n", type: "integer" }] }],
        },
        {
          id: "prefs",
          type: "SETTINGS",
          schemas: [{ id: "pref", fields: [{ name: "n", type: "integer" }] }],
        },
        { id: "rules", type: "RULES", schemas: [{ id: "rule", fields: [{ name: "rule", type: "json" }] }] },
      ],
    };
    const made = await call(host, "POST", "/api/admin/orbs?publish=true", { token, body: document });
    expect(made.status).toBe(201);
    const registry = await call(host, "GET", "/api/admin/registry/greeter", { token });
    expect(registry.body).toMatchObject([{ name: "greeter.hello", status: "available" }]);

    const ask = (handler: string, body: unknown) =>
      call(host, "POST", `/api/hosted/${handler}`, { body, token: ann.token });
    const entry = { module: "rules", values: { rule: { "==": [{ var: "n" }, 1] } } };
    await call(host, "POST", "/api/admin/orbs/hosted/entries?publish=true", { token, body: entry });
    expect((await ask("evaluate", { facts: { n: 1 } })).body.results).toHaveLength(1);
    for (let n = 0; n < 3; n++) {
      expect((await ask("record", { values: { n } })).status).toBe(200);
      // A write is visible to the next read, whatever is cached.
      expect((await ask("list", {})).body.items).toHaveLength(n + 1);
      expect((await ask("set", { values: { n } })).status).toBe(200);
      expect((await ask("get", {})).body.values).toEqual({ n });
    }
    const names = Array.from({ length: 1_000 }, (_, i) => `Ann ${i}`);
    const answers = await Promise.all(names.map((name) => ask("hello", { name })));
    expect(answers.filter(({ status }) => status !== 200).map(({ body }) => body)).toEqual([]);
    expect(answers.map(({ body }) => body.greeting)).toEqual(names.map((name) => `Hello ${name}`));
  } finally {
    await served.stop();
  }
});
