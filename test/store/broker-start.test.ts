import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { launchBroker } from "../../scripts/broker/launch.ts";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { isFree } from "../../scripts/process/ports.ts";
import { tempDir } from "../support/broker.ts";

/** Runs the real broker, but lets the file with its ports appear two seconds after it. */
const LATE = `#!/bin/sh
ports=$(sed -n 's/^ports_file_dir: "\\(.*\\)"$/\\1/p' "$2")
mkdir "$ports-late"
sed "s#^ports_file_dir: .*#ports_file_dir: \\"$ports-late\\"#" "$2" > "$2-late"
(
  until [ -n "$(ls "$ports-late")" ]; do sleep 0.1; done
  sleep 2
  mv "$ports-late"/*.ports "$ports"
) &
exec '${lastingBroker()}' -c "$2-late"
`;

it("waits for a broker that is ready but reports its ports late", async () => {
  const dir = tempDir("late-broker");
  const binary = join(dir, "nats-server");
  writeFileSync(binary, LATE);
  chmodSync(binary, 0o755);
  await using broker = await launchBroker({ binary, dir, syncInterval: "10s", passwords: {} });
  for (const port of [broker.port, broker.wsPort]) expect(await isFree(port)).toBe(false);
});
