import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import { rekey } from "../../scripts/rekey.ts";
import { findProposal } from "../../shared/changes/definition/proposal.ts";
import { SEALED } from "../../shared/definition/document/index.ts";
import { loadEntry } from "../../shared/entry/index.ts";
import { secretsOf } from "../../shared/hooks/after/secrets.ts";
import { isCurrent } from "../../shared/kernel/seal.ts";
import { adminToken, call } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { key, storedValues, testDeps } from "../support/entries.ts";
import { providerOf, signInAt, startIssuer } from "../support/issuer.ts";
import { startPlatform } from "../support/platform.ts";

it("encrypts and reserves all values again under changed keys while the platform runs", async () => {
  await using platform = await startPlatform();
  const token = await adminToken(platform);
  const document = {
    id: "vault",
    modules: [
      {
        id: "safe",
        type: "CONTENT",
        schemas: [{ id: "item", fields: [{ name: "pin", type: "string", sensitive: true, unique: true }] }],
      },
    ],
  };
  expect((await call(platform, "POST", "/api/admin/orbs", { token, body: document })).status).toBe(201);
  const entries = "/api/admin/orbs/vault/entries";
  const body = { module: "safe", values: { pin: "4711" } };
  const made = await call(platform, "POST", entries, { token, body });
  expect(made.status).toBe(201);

  const path = join(platform.settings.dataDir, "secrets.json");
  const secrets = JSON.parse(readFileSync(path, "utf8")) as {
    ENCRYPTION_KEYS: string;
    CLAIM_KEY: string;
  };
  const keys = JSON.parse(secrets.ENCRYPTION_KEYS) as object[];
  secrets.ENCRYPTION_KEYS = JSON.stringify([{ kid: "fresh", k: key() }, ...keys]);
  secrets.CLAIM_KEY = `${secrets.CLAIM_KEY},${key()}`;
  writeFileSync(path, JSON.stringify(secrets));

  const told: string[] = [];
  const result = await rekey(platform.settings, (orb) => told.push(orb));
  expect(result).toMatchObject({ entries: 1, resealed: 1, failed: [], conflicts: [] });
  expect(told).toEqual(["vault"]);
  const entry = await loadEntry({ store: platform.operatorStore() }, "vault", made.body.id);
  const sealed = storedValues(entry?.head).pin as { $sealed: string };
  expect(isCurrent(secrets.ENCRYPTION_KEYS, sealed.$sealed)).toBe(true);
  expect(entry?.head.claims).toHaveLength(2);

  // The HTTP operation does the same for one orb, with the keys that the functions currently have.
  const again = await call(platform, "POST", `${entries}/rekey`, { token });
  expect(again).toMatchObject({
    status: 200,
    body: { entries: 1, resealed: 0, failed: [made.body.id], conflicts: [] },
  });
});

it("encrypts the secrets of providers, webhooks and invitations again, so that the old key can be removed", async () => {
  await using issuer = await startIssuer();
  const env = { DATA_DIR: tempDir("rekey"), PORT: String(await freePort()) };
  const path = join(env.DATA_DIR, "secrets.json");
  const change = (turn: (keys: object[]) => object[]): string => {
    const secrets = JSON.parse(readFileSync(path, "utf8")) as { ENCRYPTION_KEYS: string };
    secrets.ENCRYPTION_KEYS = JSON.stringify(turn(JSON.parse(secrets.ENCRYPTION_KEYS) as object[]));
    writeFileSync(path, JSON.stringify(secrets));
    return secrets.ENCRYPTION_KEYS;
  };
  const documentOf = (id: string) => ({
    id,
    access: { signup: "open", providers: [providerOf(issuer)] },
    uses: [{ service: "access", handlers: ["passkey", "invitations", "oauth"] }],
    modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields: [] }] }],
    hooks: [{ id: "notify", on: ["entry.created"], url: "https://example.org/hook" }],
  });
  const revisionsOf = (orb: { revision: number; publishedRevision: number | null }) => [
    orb.revision,
    orb.publishedRevision,
  ];
  let [secret, token, set] = ["", "", ""];
  {
    await using platform = await startPlatform({ env });
    token = await adminToken(platform);
    for (const id of ["plain", "drafted"]) {
      const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
        token,
        body: documentOf(id),
      });
      expect(made.status).toBe(201);
    }
    // The secret of this provider is nowhere but in the definition of a change set.
    const opened = await call(platform, "POST", "/api/plain/changes", { token, body: { title: "Second" } });
    set = opened.body.id;
    const proposed = {
      ...documentOf("plain"),
      access: { signup: "open", providers: [providerOf(issuer, "second")] },
    };
    const within = `/api/admin/orbs/plain?change=${set}`;
    expect((await call(platform, "PUT", within, { token, body: proposed })).status).toBe(200);
    const draft = { ...documentOf("drafted"), name: "A draft" };
    const drafted = await call(platform, "PUT", "/api/admin/orbs/drafted", { token, body: draft });
    expect(revisionsOf(drafted.body)).toEqual([2, 1]);
    const renewed = await call(platform, "POST", "/api/admin/orbs/plain/hooks/notify/secret", { token });
    secret = renewed.body.secret;
    const invited = await call(platform, "POST", "/api/plain/invitations", { token, body: {} });
    expect(invited.status).toBe(201);
    change((keys) => [{ kid: "fresh", k: key() }, ...keys]);
    // Two at once do no harm.
    const [first, second] = await Promise.all([
      rekey(platform.settings, () => undefined),
      rekey(platform.settings, () => undefined),
    ]);
    expect([...first.failed, ...second.failed]).toEqual([]);
    expect((await rekey(platform.settings, () => undefined)).secrets).toBe(0);
  }
  const encryptionKeys = change((keys) => keys.slice(0, 1));
  await using platform = await startPlatform({ env });
  for (const id of ["plain", "drafted"]) {
    expect((await signInAt(platform, issuer, `/api/${id}`)).status).toBe(302);
  }
  const orb = async (id: string) => (await call(platform, "GET", `/api/admin/orbs/${id}`, { token })).body;
  const [plain, drafted] = [await orb("plain"), await orb("drafted")];
  expect(plain.publishedRevision).toBe(plain.revision);
  // The draft stays a draft, and its secret can be published.
  expect(drafted).toMatchObject({ name: "A draft", publishedRevision: 1 });
  expect((await call(platform, "POST", "/api/admin/orbs/drafted/publish", { token })).status).toBe(200);
  expect((await signInAt(platform, issuer, "/api/drafted")).status).toBe(302);
  const deps = testDeps(platform.operatorStore(), { encryptionKeys });
  const proposal = await findProposal(deps, "plain", set);
  const [provider] = proposal?.proposal.document.access?.providers ?? [];
  expect(provider?.id).toBe("second");
  expect(isCurrent(encryptionKeys, provider?.clientSecret?.slice(SEALED.length) ?? "")).toBe(true);
  const [signing] = await secretsOf(deps, "plain", "notify");
  expect(Buffer.from(signing ?? []).toString("base64")).toBe(secret.slice("whsec_".length));
  const listed = await call(platform, "GET", "/api/plain/invitations", { token });
  expect(listed.body.items?.[0]?.token ?? listed.body[0].token).toMatch(/^[\w-]{32}$/);
});
