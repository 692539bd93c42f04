import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { isRecentEnough, parseVersion } from "../../scripts/broker/version.ts";
import { readSettings, testEnvironment } from "../../scripts/config/settings.ts";

test.each([
  ["nats-server: v2.15.1", "2.15.1"],
  ["nats-server: v2.14.0-RC.2\n", "2.14.0-RC.2"],
  ["nats-server version 2.9.25", "2.9.25"],
  ["something else", undefined],
])("finds the version in %j", (output, version) => {
  expect(parseVersion(output)).toBe(version);
});

test.each([
  ["2.14.10", true],
  ["2.14.11", true],
  ["2.15.1", true],
  ["2.15.10", true],
  ["2.16.0", true],
  ["3.0.0", true],
  ["2.14.9", false],
  ["2.15.0", false],
  ["2.13.99", false],
  ["2.9.25", false],
  ["1.99.99", false],
  ["2.14.10-RC.1", false],
  ["2.15.1-RC.2", false],
  ["2.15.2-preview", true],
])("checks whether version %s is recent enough: %s", (version, expected) => {
  expect(isRecentEnough(version)).toBe(expected);
});

test("has the documented defaults", () => {
  const settings = readSettings({});
  expect(settings).toMatchObject({
    host: "127.0.0.1",
    port: 8787,
    streamsPort: 52012,
    publicUrl: "http://localhost:8787",
    external: undefined,
    replicas: 1,
  });
  expect(settings.dataDir.endsWith(".data")).toBe(true);
});

test("treats an empty variable as missing, and derives PUBLIC_URL from PORT", () => {
  expect(readSettings({ PORT: "9000", NATS_URL: "" })).toMatchObject({
    publicUrl: "http://localhost:9000",
    external: undefined,
  });
});

test.each([
  ["https://platform.example/", "https://platform.example"],
  ["http://localhost:9000", "http://localhost:9000"],
  ["http://shop.localhost:9000", "http://shop.localhost:9000"],
])("accepts %s as PUBLIC_URL", (text, origin) => {
  expect(readSettings({ PUBLIC_URL: text }).publicUrl).toBe(origin);
});

test.each([
  [{ PORT: "eighty" }, /^PORT=eighty is not a port/],
  [{ PORT: "70000" }, /^PORT=70000 is not a port/],
  [{ PORT: "52012" }, /^PORT and STREAMS_PORT are both 52012\. Choose another/],
  [{ STREAMS_PORT: "9000", NATS_PORT: "9000" }, /^STREAMS_PORT and NATS_PORT are both 9000/],
  [{ NATS_PORT: "9000", NATS_WS_PORT: "9000" }, /^NATS_PORT and NATS_WS_PORT are both 9000/],
  [{ PUBLIC_URL: "platform.example" }, /^PUBLIC_URL=platform\.example is not an origin/],
  [{ PUBLIC_URL: "https://platform.example/path" }, /is not an origin/],
  [{ PUBLIC_URL: "http://127.0.0.1:9731" }, /^PUBLIC_URL=http:\/\/127\.0\.0\.1:9731 is an IP address/],
  [{ PUBLIC_URL: "https://[::1]:9731" }, /is an IP address/],
  [{ PUBLIC_URL: "http://platform.example" }, /^PUBLIC_URL=http:\/\/platform\.example must begin with https/],
  [{ NATS_URL: "broker:4222" }, /^NATS_URL must be .* \(separate several with commas\)\.$/],
  [
    { NATS_URL: "nats://broker:4222" },
    /^NATS_URL must be .* \(nats:\/\/ is for services: unset NATS_URL to use the started broker\)\.$/,
  ],
  [{ NATS_URL: "ws://broker:80", NATS_USER: "fn" }, /must be set together/],
  [{ NATS_REPLICAS: "0" }, /^NATS_REPLICAS=0/],
  [{ NATS_SYNC_INTERVAL: "often" }, /^NATS_SYNC_INTERVAL=often/],
  [{ NATS_LINK: "yes" }, /^NATS_LINK=yes is not valid/],
])("refuses %j with a plain sentence", (env, message) => {
  expect(() => readSettings(env)).toThrow(message);
});

test("passes no setting of the shell on to the tests, except those that select their environment", () => {
  const page = readFileSync(new URL("../../docs/reference/settings.md", import.meta.url), "utf8");
  const names = [...page.matchAll(/^\| (`[A-Z].*?) \|/gm)].flatMap(
    ([, cell]) => cell?.match(/[A-Z_]+/g) ?? [],
  );
  expect(names.length).toBeGreaterThan(30);
  const shell = Object.fromEntries([...names, "PATH"].map((name) => [name, "set"]));
  expect(testEnvironment(shell)).toEqual({
    PATH: "set",
    CHROMIUM_BIN: "set",
    NODE_EXTRA_CA_CERTS: "set",
    PLATFORM_HOST: "set",
    TEST_BROKERS: "set",
    TEST_HOST: "set",
    TEST_LINK: "set",
  });
});
