import { expect, test } from "vitest";
import { launchCluster } from "../../scripts/broker/cluster.ts";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { orbStreamConfig, provision } from "../../shared/store/broker/provision.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import { openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { tempDir } from "../support/broker.ts";
import { pause, read, STREAM, SUBJECTS, write } from "../support/races.ts";
import { testRandom } from "../support/random.ts";

test("on three replicas no read is older than an acknowledged write, even while a broker is killed", async () => {
  const random = testRandom();
  const passwords = { fn: "fn", streams: "streams", deploy: "deploy", operator: "operator" };
  await using cluster = await launchCluster(
    { binary: lastingBroker(), dir: tempDir("cluster"), syncInterval: "10s", passwords },
    3,
  );
  const [near, far, other] = cluster.nodes;
  if (near === undefined || far === undefined || other === undefined)
    throw new Error("the cluster does not have three brokers");
  const access = (url: string, user: "fn" | "deploy" = "fn") => ({
    url,
    user,
    pass: user,
    replicas: 3,
    reconnect: true,
  });
  const deploy = openStore(access(near.wsUrl, "deploy"));
  await provision(deploy, { replicas: 3, patienceMs: 20_000 });
  await deploy.close();
  const others = [openStore(access(far.wsUrl)), openStore(access(other.wsUrl))] as const;
  for (const deadline = Date.now() + 30_000; ; await pause(100)) {
    const made = await others[0].createStream(orbStreamConfig("shop", 3)).then(
      () => true,
      () => false,
    );
    if (made) break;
    expect(Date.now()).toBeLessThan(deadline);
  }
  const store = openCachedStore(access(near.wsUrl), { freeze: true });
  const acknowledged = new Map<string, number>();
  const until = Date.now() + 4000;
  const work = Promise.all([
    ...others.map((writer) => write(writer, until, random.fork())),
    write(store, until, random.fork(), acknowledged),
    write(store, until, random.fork(), acknowledged),
    ...[1, 2, 3].map(() => read(store, until, random.fork(), acknowledged, 3)),
  ]);
  await pause(1500);
  await far.kill("SIGKILL");
  await work;
  await far.ready();
  const stats = store.stats();
  expect(stats.hits).toBeGreaterThan(100);

  for (const deadline = Date.now() + 30_000; ; await pause(50)) {
    const [known, truth] = await Promise.all([
      store.getMany(STREAM, SUBJECTS, { consistency: "stale", maxBytes: 1e8 }),
      others[1].getMany(STREAM, SUBJECTS, { maxBytes: 1e8 }),
    ]).catch(() => []);
    if (known !== undefined && truth !== undefined && truth.size > 0) {
      if (SUBJECTS.every((subject) => known.get(subject)?.seq === truth.get(subject)?.seq)) break;
    }
    expect(Date.now()).toBeLessThan(deadline);
  }
  await Promise.all([store.close(), ...others.map((writer) => writer.close())]);
});
