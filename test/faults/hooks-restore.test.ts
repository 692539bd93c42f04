/** Hooks after writes, webhooks and schedules continue after a restore, also beside a process that delivers. */
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { backup } from "../../scripts/backup.ts";
import { serveHooks } from "../../scripts/host/hooks.ts";
import { restore } from "../../scripts/restore.ts";
import { adminToken, call } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { certificates } from "../support/certificates.ts";
import { type HookCall, hookService, Refusal, until } from "../support/hooks.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";
import { type Received, startReceiver } from "../support/receiver.ts";
import { natsUrl } from "../support/services.ts";

const quiet = () => undefined;
const MODULES = [
  { id: "news", type: "CONTENT", schemas: [{ id: "post", fields: [{ name: "n", type: "integer" }] }] },
];

/** The part of an entry that tells apart a write and another one, which took its place after a restore. */
interface Write {
  id: string;
  revision: number;
  updatedAt: string;
}
const nameOf = ({ id, revision, updatedAt }: Write) => `${id}.${revision}.${updatedAt}`;

test("a restore loses no delivery: what waited, later writes in order, and each tick once", async () => {
  const folder = join(tempDir("backup"), "hooks");
  const files = certificates(tempDir("certificates"));
  await using receiver = await startReceiver(files);
  /** Entry whose second revision is refused, so that it waits. */
  let refused = "";
  const isRefused = ({ id, revision }: Write) => id === refused && revision === 2;
  let heard: string[] = [];
  let posted: { name: string; request: Received }[] = [];
  receiver.answer = (response, request) => {
    const { data } = JSON.parse(request.body) as { data: Write };
    if (!isRefused(data)) posted.push({ name: nameOf(data), request });
    response.writeHead(isRefused(data) ? 500 : 204).end();
  };
  const serve = async (platform: TestPlatform) => {
    const stack = new AsyncDisposableStack();
    const at = { tcpUrl: () => natsUrl(platform) };
    const hear = stack.use(await hookService(at, "notes.hear"));
    hear.answer = ({ input }: HookCall) => {
      const entry = input.entry as HookCall["input"]["entry"] & Write;
      if (isRefused(entry)) return new Refusal("503", "Not now.");
      heard.push(nameOf(entry));
      return null;
    };
    const strike = stack.use(await hookService(at, "clock.strike"));
    const env = {
      ...platform.bindings,
      HOOKS_RETRY_MS: "50",
      HOOKS_ATTEMPTS: "20",
      HOOKS_ALLOWED_NETWORKS: "127.0.0.0/8",
      NODE_EXTRA_CA_CERTS: files.ca,
    };
    stack.use(await serveHooks({ programs: testPrograms(), env, log: quiet }));
    return { stack, strike };
  };
  const writer = (platform: TestPlatform, token: string) => async (id?: string) => {
    const path = `/api/told/news${id === undefined ? "" : `/${id}`}`;
    const body = { values: { n: 1 } };
    const answer = await call(platform, id === undefined ? "POST" : "PUT", path, { token, body });
    expect(answer.status).toBeLessThan(300);
    return answer.body as Write;
  };
  const arrived = (name: string) =>
    until(
      () => [heard.includes(name), posted.some((one) => one.name === name)],
      (all) => all.every(Boolean),
    );

  await using first = await startPlatform();
  const token = await adminToken(first);
  const services = await serve(first);
  let secret = "";
  let known: Write;
  let waiting: Write;
  {
    await using _ = services.stack;
    await createOrb(first, token, {
      id: "told",
      uses: [
        { service: "notes", handlers: ["hear"] },
        { service: "clock", handlers: ["strike"] },
      ],
      hooks: [
        { id: "hear", on: ["entry.created", "entry.updated"], mode: "after", handler: "notes.hear" },
        { id: "post", on: ["entry.created", "entry.updated"], url: receiver.url },
      ],
      schedules: [{ id: "strike", cron: "*/2 * * * * *", handler: "clock.strike" }],
      modules: MODULES,
    });
    const made = await call(first, "POST", "/api/admin/orbs/told/hooks/post/secret", { token });
    ({ secret } = made.body as { secret: string });
    const write = writer(first, token);
    known = await write();
    ({ id: refused } = await write());
    await arrived(nameOf(known));
    waiting = await write(refused);
    const path = "/api/admin/orbs/told/deliveries?status=waiting";
    await until(
      async () => ((await call(first, "GET", path, { token })).body as { items: unknown[] }).items,
      (items) => items.length === 2,
    );
    await until(
      () => services.strike.calls,
      (calls) => calls.length > 0,
    );
    await backup(first.settings, folder, quiet);
    // The progress of the first platform runs ahead of the backup.
    for (let n = 0; n < 6; n++) await write(known.id);
  }
  refused = "";

  const keys = Object.fromEntries(
    ["JWT_SIGNING_KEYS", "ENCRYPTION_KEYS", "CLAIM_KEY"].map((name) => [name, first.bindings[name] ?? ""]),
  );
  await using second = await startPlatform({ env: { ...keys, PUBLIC_URL: first.settings.publicUrl } });
  const there = { ...second, origin: second.url };
  const { stack, strike } = await serve(second);
  await using _ = stack;
  const write = writer(there, token);
  const restoreAndWrite = async (from: string, undelivered: readonly Write[]) => {
    await restore(second.settings, from, { keepSessions: true, replace: true }, quiet);
    [heard, posted] = [[], []];
    strike.calls.length = 0;
    const restored = Date.now();
    const later: string[] = [];
    // Fewer than were written after the backup, so that their sequences lie before the earlier progress.
    for (let n = 0; n < 4; n++) later.push(nameOf(await write(known.id)));
    for (const name of [...undelivered.map(nameOf), ...later]) await arrived(name);
    for (const lane of [heard, posted.map(({ name }) => name)]) {
      const firsts = [...new Set(lane)].filter((name) => later.includes(name));
      expect(firsts).toEqual(later);
    }
    const [{ request } = { request: undefined }] = posted;
    const about = `${request?.headers["webhook-id"]}.${request?.headers["webhook-timestamp"]}.${request?.body}`;
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    expect(request?.headers["webhook-signature"]).toBe(
      `v1,${createHmac("sha256", key).update(about).digest("base64")}`,
    );
    const ticks = () =>
      strike.calls
        .map(({ schedule }) => Date.parse(schedule?.at ?? ""))
        .filter((at) => at > restored)
        .toSorted((a, b) => a - b);
    await until(ticks, (all) => all.length >= 2);
    expect(ticks()).toEqual([...new Set(ticks())]);
  };
  await restoreAndWrite(folder, [waiting]);
  // The process that leads is also the leader in this backup, and its progress runs ahead.
  const own = join(tempDir("backup"), "own");
  await backup(second.settings, own, quiet);
  for (let n = 0; n < 6; n++) await arrived(nameOf(await write(known.id)));
  await restoreAndWrite(own, []);
}, 120_000);
