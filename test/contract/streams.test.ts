import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tempDir } from "../support/broker.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { type Publisher, publisher, signIn } from "../support/streams.ts";
import { startShim } from "./streams-shim.ts";

/** The suite gives each test a second more than this, which a busy machine may need. */
const LONG_POLL_MS = 2_000;
/** One stream per host, because the suite is affected by other writers. */
const STREAMS = ["conformance-edge", "conformance-process"] as const;
const names = JSON.parse(
  readFileSync(new URL("streams-read-side.json", import.meta.url), "utf8"),
) as string[];

let platform: TestPlatform;
let broker: Publisher;
let token: string;

beforeAll(async () => {
  platform = await startPlatform({
    streams: true,
    env: { STREAMS_LONG_POLL_MS: String(LONG_POLL_MS), ALLOWED_ORIGINS: "*" },
  });
  token = await signIn(platform);
  broker = await publisher(platform);
  const manager = await broker.connection.jetstreamManager();
  for (const name of STREAMS)
    await manager.streams.add({ name, subjects: [`${name}.>`], allow_direct: true });
});
afterAll(async () => {
  await broker?.[Symbol.asyncDispose]();
  await platform?.stop();
});

const spaced = (name: string) => name.replaceAll(" > ", " ");

interface Report {
  testResults: { assertionResults: { fullName: string; status: string; failureMessages: string[] }[] }[];
}

/** Starts the proxy through which the suite uses a host. */
const shimOf = (base: string, stream: string) =>
  startShim({
    base,
    prefix: stream,
    token,
    async create(name) {
      const response = await fetch(`${platform.origin}/api/admin/streams/${name}`, {
        method: "PUT",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ stream, subjectFilter: `${stream}.${name}` }),
      });
      if (!response.ok) throw new Error(`the mapping was refused: ${response.status}`);
    },
    async publish(name, messages) {
      for (const message of messages) await broker.js.publish(`${stream}.${name}`, message);
    },
  });

/**
 * Runs the listed tests of the suite, whose names begin with that of the host.
 * @param urls of the proxies, by host
 * @returns the failure messages by test, empty for passed ones
 */
async function runSuite(
  urls: Readonly<Record<string, string>>,
  tests: readonly string[],
): Promise<Map<string, string>> {
  const report = `${tempDir("conformance")}/report.json`;
  const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));
  const config = fileURLToPath(new URL("streams-suite.config.ts", import.meta.url));
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const env = {
    ...process.env,
    CONFORMANCE_URLS: JSON.stringify(urls),
    CONFORMANCE_LONG_POLL_MS: String(LONG_POLL_MS),
    CONFORMANCE_TESTS: JSON.stringify(tests),
  };
  const said = await new Promise<string>((resolve) => {
    const args = [vitest, "run", "--config", config, "--reporter=json", `--outputFile=${report}`];
    execFile(process.execPath, args, { cwd: root, env }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
  let parsed: Report;
  try {
    parsed = JSON.parse(readFileSync(report, "utf8")) as Report;
  } catch {
    throw new Error(`The suite did not run: ${said}`);
  }
  const results = parsed.testResults.flatMap((file) => file.assertionResults);
  return new Map(
    results
      .filter(({ status }) => status === "passed" || status === "failed")
      .map(({ fullName, status, failureMessages }) => [
        spaced(fullName),
        status === "passed" ? "" : failureMessages.join("\n"),
      ]),
  );
}

const hosts = ["the functions", "the streams process"] as const;
/** Each host gets each test with hundreds of random requests once in so many runs. They take most of the time. */
const RANDOM_RUNS = 6;
const seed = Number(process.env.TEST_SEED ?? Date.now());
/** The tests for a host. TEST_SEED=-1 runs all. */
const namesOf = (host: number) =>
  names.filter(
    (name, at) =>
      !name.startsWith("Property-Based Tests") ||
      seed < 0 ||
      (seed + at + (host * RANDOM_RUNS) / hosts.length) % RANDOM_RUNS === 0,
  );
let results: Map<string, string>;
beforeAll(async () => {
  await using edge = await shimOf(platform.origin, STREAMS[0]);
  await using streams = await shimOf(platform.streamsUrl ?? "", STREAMS[1]);
  const tests = hosts.flatMap((host, at) => namesOf(at).map((name) => `${host} > ${name}`));
  results = await runSuite({ [hosts[0]]: edge.url, [hosts[1]]: streams.url }, tests);
}, 300_000);

describe.each(hosts)("Durable Streams conformance of %s", (host) => {
  test.each(namesOf(hosts.indexOf(host)))("%s", (name) => {
    expect(results.get(spaced(`${host} > ${name}`))).toBe("");
  });
});
