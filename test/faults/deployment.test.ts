/** The files of scripts/server and compose.yaml: what a server needs, checked as far as one machine can. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { unpackPackages } from "../../scripts/tools/packages.ts";
import { call, register } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { createOrb, small } from "../support/orbs.ts";
import { runScript, settings } from "../support/start.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const server = join(root, "scripts/server");
const text = (path: string) => readFileSync(join(root, path), "utf8");

interface Service {
  mem_limit?: string;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
}
const compose = parse(text("compose.yaml"), { merge: true }) as { services: Record<string, Service> };

function prepare(folder: string): void {
  execFileSync("sh", [join(server, "prepare.sh"), "https://platform.example", folder], { stdio: "pipe" });
}

describe("compose.yaml", () => {
  const folder = tempDir("deployment");
  prepare(folder);

  test("mounts only files that exist or that prepare.sh creates", () => {
    const files = Object.values(compose.services)
      .flatMap(({ volumes = [] }) => volumes)
      .map((volume) => volume.split(":")[0] ?? "")
      .filter((path) => path.startsWith("./"));
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const created = file.startsWith("./deployment/") ? join(folder, file.slice(13)) : join(root, file);
      expect(existsSync(created), file).toBe(true);
    }
  });

  test("limits the memory of every service, and takes the rights that none needs", () => {
    for (const [name, service] of Object.entries(compose.services)) {
      expect(service.mem_limit, name).toMatch(/^\d+[mg]$/);
      expect(service.cap_drop, name).toEqual(["ALL"]);
      expect(service.security_opt, name).toEqual(["no-new-privileges:true"]);
      // Only the proxy listens on ports below 1024.
      expect(service.cap_add, name).toEqual(name === "proxy" ? ["NET_BIND_SERVICE"] : undefined);
    }
    const units = readdirSync(join(server, "systemd")).filter((file) => file.endsWith(".service"));
    for (const unit of units) expect(text(`scripts/server/systemd/${unit}`), unit).toMatch(/^MemoryMax=\d/m);
  });

  test("uses only settings that are documented, and variables that prepare.sh writes", () => {
    const documented = text("docs/reference/settings.md");
    for (const [name, { environment = {} }] of Object.entries(compose.services)) {
      if (name === "proxy") continue;
      for (const variable of Object.keys(environment)) expect(documented).toContain(`| \`${variable}\` |`);
    }
    const written = readFileSync(join(folder, ".env"), "utf8");
    for (const [, name] of text("compose.yaml").matchAll(/\$\{([A-Z_]+)/g))
      expect(written).toContain(`${name}=`);
    for (const [, name] of text("scripts/server/Caddyfile").matchAll(/\{\$([A-Z_]+)\}/g))
      expect(compose.services.proxy?.environment).toHaveProperty(String(name));
  });

  test("prepare.sh keeps its secrets private, and changes nothing when it is repeated", () => {
    const secret = () =>
      [".env", "ca.key", "n1/key.pem"].map((file) => readFileSync(join(folder, file), "utf8"));
    const before = secret();
    prepare(folder);
    expect(secret()).toEqual(before);
    for (const file of [".env", "ca.key", "n1/key.pem", "n2/variables.conf"])
      expect(statSync(join(folder, file)).mode & 0o077, file).toBe(0);
  });

  test("three brokers run with what prepare.sh creates, and provision prepares them", async () => {
    const [client, web, cluster] = await Promise.all(
      [1, 2, 3].map(() => Promise.all([freePort(), freePort(), freePort()])),
    );
    const names = ["n1", "n2", "n3"];
    const local = (conf: string, at: number) =>
      conf
        .replaceAll("/etc/nats/", `${join(folder, names[at] ?? "")}/`)
        .replace('"/data"', JSON.stringify(tempDir("store")))
        .replace("0.0.0.0:4222", `127.0.0.1:${client?.[at]}`)
        .replace("0.0.0.0:8443", `127.0.0.1:${web?.[at]}`)
        .replace("0.0.0.0:6222", `127.0.0.1:${cluster?.[at]}`)
        .replace(/tls:\/\/n(\d):6222/g, (_, number) => `tls://localhost:${cluster?.[Number(number) - 1]}`)
        .replace("20GB", "1GB");
    const brokers = names.map((name, at) => {
      const dir = join(folder, name);
      writeFileSync(join(dir, "production.conf"), text("scripts/broker/production.conf"));
      writeFileSync(
        join(dir, "variables.conf"),
        local(readFileSync(join(dir, "variables.conf"), "utf8"), at),
      );
      return spawn(lastingBroker(), ["-c", join(dir, "production.conf")], { stdio: "ignore" });
    });
    try {
      const env = Object.fromEntries(
        readFileSync(join(folder, ".env"), "utf8")
          .trim()
          .split("\n")
          .map((line) => line.split("=") as [string, string]),
      );
      await using provisioning = runScript("provision", {
        DATA_DIR: tempDir("keys"),
        NATS_URL: (web ?? []).map((port) => `wss://localhost:${port}`).join(","),
        NATS_REPLICAS: "3",
        NATS_USER: "deploy",
        NATS_PASS: String(env.DEPLOY_PASSWORD),
        NODE_EXTRA_CA_CERTS: join(folder, "ca.pem"),
        PUBLIC_URL: String(env.PUBLIC_URL),
      });
      expect(await provisioning.exited(), provisioning.output()).toBe(0);
      expect(provisioning.output()).toContain("The broker is ready, with 3 replicas");
    } finally {
      for (const broker of brokers) {
        broker.kill("SIGKILL");
        if (broker.exitCode === null && broker.signalCode === null) await once(broker, "exit");
      }
    }
  });
});

/** Runs the machine's `systemd-analyze`, or an unpacked one: the tests install nothing on the machine. */
function analyze(...args: string[]) {
  const options = { encoding: "utf8" } as const;
  const own = spawnSync("systemd-analyze", args, options);
  if (own.error === undefined) return own;
  const folder = unpackPackages(["systemd", "libsystemd-shared"], join(root, ".data", "systemd"));
  if (folder === undefined) throw new Error("The test needs systemd-analyze. Install systemd.");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  const libraries = files.filter(({ name }) => name.includes(".so")).map(({ parentPath }) => parentPath);
  const LD_LIBRARY_PATH = [...new Set(libraries)].join(":");
  const env = { ...process.env, LD_LIBRARY_PATH };
  return spawnSync(join(folder, "usr/bin/systemd-analyze"), args, { ...options, env });
}

test("systemd accepts the units, and rates them as well protected", () => {
  const folder = join(server, "systemd");
  for (const file of readdirSync(folder)) {
    const verified = analyze("verify", join(folder, file));
    // The programs and users exist on the server only.
    const faults = verified.stderr
      .split("\n")
      .filter((line) => line !== "" && !/is not executable/.test(line));
    expect(faults, file).toEqual([]);
    if (!file.endsWith(".service")) continue;
    const rated = analyze("security", "--offline=true", join(folder, file));
    const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(rated.stdout) ?? [];
    expect(Number(exposure), file).toBeLessThan(2);
  }
});

test("alerts and dashboard name only metrics that the platform exports", async () => {
  const env = await settings({ METRICS_TOKEN: "x".repeat(32) });
  await using host = runScript("host", env);
  await host.printed(/ready at/);
  const at = { origin: `http://localhost:${env.PORT}` };
  const { body: invited } = await call(at, "GET", "/api/_auth/invitations");
  const { token } = await register(at, "/api/_auth", invited[0].token);
  // Figures of hooks are exported once an orb has one.
  const hooks = [{ id: "notify", on: ["entry.created"], url: "https://example.org/hook" }];
  await createOrb(at, token, { ...small("hooked"), hooks });
  const headers = { authorization: `Bearer ${env.METRICS_TOKEN}` };
  const texts = await Promise.all(
    [env.PORT, env.STREAMS_PORT].map(async (port) =>
      (await fetch(`http://localhost:${port}/api/metrics`, { headers })).text(),
    ),
  );
  const exported = new Set([...texts.join("\n").matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const alerts = parse(text("scripts/server/monitoring/alerts.yaml")) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
  };
  const rules = alerts.groups.flatMap((group) => group.rules);
  for (const { alert, annotations } of rules)
    expect(Object.keys(annotations).sort(), alert).toEqual(["action", "summary"]);
  const dashboard = JSON.parse(text("scripts/server/monitoring/dashboard.json")) as {
    panels: { targets: { expr: string }[] }[];
  };
  const expressions = [
    ...rules.map(({ expr }) => expr),
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];
  const used = expressions.flatMap((expr) => expr.match(/\b(platform|http|streams|process)_[a-z_]+/g) ?? []);
  const unknown = used.filter((name) => !exported.has(name.replace(/_bucket$/, "")));
  expect(unknown).toEqual([]);
  expect(used.length).toBeGreaterThan(15);
});
