import { expect, test } from "vitest";
import { otherLayout } from "../../scripts/broker/layout.ts";
import { tempDir } from "../support/broker.ts";
import { startPlatform } from "../support/platform.ts";

const single =
  /^This folder also holds the data of a single broker \(npm start\); the cluster begins empty\. Move it with npm run backup and restore\.$/;

test("a change between one broker and a cluster reports that the other one's data stays where it is", async () => {
  const env = { DATA_DIR: tempDir("layout") };
  const said = async (brokers: string) => {
    await using platform = await startPlatform({ env: { ...env, NATS_BROKERS: brokers } });
    expect(platform.logs.filter((line) => line.includes("could not be compared"))).toEqual([]);
    return platform.logs.filter((line) => line.startsWith("This folder"));
  };
  expect(await said("1")).toEqual([]);
  expect(otherLayout(env.DATA_DIR, 1)).toBeUndefined();
  expect(await said("3")).toEqual([expect.stringMatching(single)]);
  expect(await said("1")).toEqual([
    "This folder also holds the data of a cluster (npm run cluster); the single broker has data of its own. Move it with npm run backup and restore.",
  ]);
}, 120_000);
