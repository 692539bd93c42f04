/**
 * Checks each broker: whether it is reachable and recent, has the same version as the other brokers, and has a
 * correct clock and sufficient permissions.
 */
import { setTimeout as delay } from "node:timers/promises";
import { proveWrite } from "../../shared/discovery/writable.ts";
import { newId } from "../../shared/kernel/ids.ts";
import type { ConnectOptions } from "../../shared/store/client/index.ts";
import { buckets, kvSubject, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { api } from "../backup/format.ts";
import { checkBroker } from "../broker/check.ts";
import { MAX_PENDING, PENDING_BYTES } from "../broker/config.ts";
import { withStore } from "../platform/prepare-broker.ts";
import { type Finding, fail, MEND_DISK, messageOf, ok, sizeOf, warn } from "./finding.ts";

/**
 * Difference between two clocks, in milliseconds, from which the check warns or fails. Hosts compare the brokers'
 * timestamps with their own clocks.
 */
const CLOCK_WARN_MS = 500;
const CLOCK_FAIL_MS = 5_000;
/** Share of the broker's storage limit from which the check warns or fails. */
const DISK_WARN = 0.8;
const DISK_FAIL = 0.95;
/** Milliseconds to wait for the replies of all brokers. */
const COLLECT_MS = 1_000;

/** Checks each URL in NATS_URL separately, to find a single broken broker in a cluster. */
export async function checkAddresses(access: ConnectOptions, replicas: number): Promise<Finding[]> {
  const versions = new Set<string>();
  const findings = await Promise.all(
    access.url.split(",").map(async (address): Promise<Finding> => {
      const url = address.trim();
      const { host } = new URL(url);
      try {
        return await withStore({ ...access, url }, replicas, async (store) => {
          await checkBroker(store, url);
          const { version } = await store.server();
          versions.add(version);
          return ok("broker", `${host} is nats-server ${version}, round trip ${await store.ping()} ms.`);
        });
      } catch (error) {
        return fail("broker", messageOf(error), "Repair this broker: the others serve without it meanwhile.");
      }
    }),
  );
  if (versions.size > 1) findings.push(skew([...versions]));
  return findings;
}

function skew(versions: string[]): Finding {
  return warn(
    "version",
    `The brokers have different versions: ${versions.sort().join(", ")}.`,
    "Update all brokers to the newest of them, one after the other.",
  );
}

function clockFinding(name: string, differenceMs: number): Finding {
  const ms = Math.round(Math.abs(differenceMs));
  const direction = differenceMs > 0 ? "behind" : "ahead of";
  const says = `The clock of ${name} is ${ms} ms ${direction} this machine's.`;
  const remedy = "Synchronise the clocks of all machines with NTP, for example with chrony.";
  if (ms >= CLOCK_FAIL_MS) return fail("clock", says, remedy);
  return ms >= CLOCK_WARN_MS ? warn("clock", says, remedy) : ok("clock", says);
}

/** Compares this machine's clock with the broker's clock. */
export async function checkClock(store: Store): Promise<Finding> {
  const sent = Date.now();
  const { ts } = await api(store, `STREAM.INFO.${streams.platform}`, {});
  const half = (Date.now() - sent) / 2;
  return clockFinding("the broker", sent + half - Date.parse(String(ts)));
}

/** Checks that the broker stores a message, and that the program that started it saw no failed write. */
export async function checkWrites(store: Store): Promise<Finding> {
  const fault = await proveWrite(store, Date.now());
  if (fault !== undefined) return fail("writes", `The broker stores no data (${fault}).`, MEND_DISK);
  return ok("writes", "The broker stores data.");
}

/** Checks the permissions of the broker's user: reads a bucket, appends a message, creates and deletes a stream. */
export async function checkRights(store: Store, user: string | undefined): Promise<Finding[]> {
  const id = newId(Date.now());
  const trial = `doctor_${id}`;
  const acts: [string, () => Promise<unknown>][] = [
    ["read the bucket of orbs", () => store.kvGet(buckets.orbs, "doctor")],
    [
      "read the bucket of orbs directly",
      () =>
        store.getMany(streams.kv(buckets.orbs), [kvSubject(buckets.orbs, "doctor")], {
          consistency: "stale",
          maxBytes: 1024,
        }),
    ],
    [
      "append a message",
      () => store.append(streams.limits, { subject: subjects.limit("doctor", id), data: "" }),
    ],
    [
      "create and delete a stream",
      async () => {
        await store.createStream({ name: trial, subjects: [`_doctor.${id}`], storage: "memory" });
        await store.deleteStream(trial);
      },
    ],
  ];
  const name = user === undefined ? "This broker user" : `The broker user ${user}`;
  const refused: Finding[] = [];
  for (const [act, attempt] of acts) {
    try {
      await attempt();
    } catch (error) {
      refused.push(
        fail(
          "rights",
          `${name} cannot ${act} (${messageOf(error)}).`,
          "Run the doctor as the user of the hosts (NATS_USER=fn), or render production.conf again and reload the brokers.",
        ),
      );
    }
  }
  return refused.length > 0
    ? refused
    : [ok("rights", `${name} can read, write, and create and delete streams.`)];
}

/** Name, clock, disk use, buffer of a client and version, as a broker reports them to the system account. */
interface BrokerFacts {
  name: string;
  version: string;
  /** Difference between the broker's clock and the clock of this machine. */
  differenceMs: number;
  usedBytes: number;
  limitBytes: number;
  /** Bytes that the broker buffers for a client before it disconnects the client. */
  pendingBytes: number;
}

interface VarzReply {
  server: { name: string; ver: string; time: string };
  data?: {
    max_pending?: number;
    jetstream?: { config?: { max_storage?: number }; stats?: { storage?: number } };
  };
}

/**
 * Sends a request to all brokers of the cluster, as their system user.
 * @param read reads one reply
 */
async function askAll<T>(
  store: Store,
  request: { subject: string; data: string },
  read: (reply: string) => T,
): Promise<T[]> {
  const inbox = `_INBOX.${SYSTEM.user}.doctor.${newId(Date.now())}`;
  const found: T[] = [];
  const subscription = store.subscribe(inbox, ({ data }) => {
    found.push(read(new TextDecoder().decode(data)));
  });
  await store.ping();
  store.publish(request.subject, request.data, undefined, inbox);
  await delay(COLLECT_MS);
  subscription.unsubscribe();
  return found;
}

/** Asks all brokers of the cluster for their name, clock, disk use, buffer of a client and version. */
function brokerFacts(store: Store): Promise<BrokerFacts[]> {
  const sent = Date.now();
  return askAll(store, { subject: "$SYS.REQ.SERVER.PING.VARZ", data: "" }, (reply) => {
    const { server, data: facts } = JSON.parse(reply) as VarzReply;
    return {
      name: server.name,
      version: server.ver,
      differenceMs: (sent + Date.now()) / 2 - Date.parse(server.time),
      usedBytes: facts?.jetstream?.stats?.storage ?? 0,
      limitBytes: facts?.jetstream?.config?.max_storage ?? 0,
      pendingBytes: facts?.max_pending ?? 0,
    };
  });
}

interface HealthReply {
  server: { name: string };
  data?: { status?: string; error?: string; errors?: { error?: string }[] };
}

/** Asks each broker about its own health: it names each stream that it stopped storing after a failed write. */
function brokerHealth(store: Store): Promise<Finding[]> {
  const request = { subject: "$SYS.REQ.SERVER.PING.HEALTHZ", data: JSON.stringify({ details: true }) };
  return askAll(store, request, (reply) => {
    const { server, data } = JSON.parse(reply) as HealthReply;
    const errors = [data?.error, ...(data?.errors ?? []).map(({ error }) => error)].filter(Boolean);
    if (errors.length === 0) return ok("writes", `${server.name} stores all of its streams.`);
    const more = errors.length > 1 ? `, and ${errors.length - 1} more` : "";
    return fail("writes", `${server.name} reports: ${errors[0]}${more}.`, MEND_DISK);
  });
}

const SYSTEM = { user: "system" };

/** Checks disk, writes, clock and version of every broker. Connects as the broker's system user. */
export async function checkSystem(access: ConnectOptions, password: string): Promise<Finding[]> {
  const { token: _, creds: __, ...address } = access;
  const [facts, health] = await withStore({ ...address, ...SYSTEM, pass: password }, 1, (store) =>
    Promise.all([brokerFacts(store), brokerHealth(store)]),
  );
  if (facts.length === 0) {
    return [
      warn(
        "disk",
        "No broker answered the system user.",
        "Check that NATS_SYSTEM_PASS is the password of the user system.",
      ),
    ];
  }
  const versions = new Set(facts.map(({ version }) => version));
  return [
    ...facts.flatMap((one) => [
      diskFinding(one),
      clockFinding(one.name, one.differenceMs),
      bufferFinding(one),
    ]),
    ...health,
    ...(versions.size > 1 ? [skew([...versions])] : []),
  ];
}

/** Warns if the broker would disconnect hosts while a large change set is published. */
function bufferFinding({ name, pendingBytes }: BrokerFacts): Finding {
  const says = `${name} buffers up to ${sizeOf(pendingBytes)} for a client.`;
  if (pendingBytes >= PENDING_BYTES) return ok("buffer", says);
  const remedy = `Set max_pending of the broker to ${MAX_PENDING} and reload it. Otherwise it disconnects hosts while a large change set is published.`;
  return warn("buffer", says, remedy);
}

function diskFinding({ name, usedBytes, limitBytes }: BrokerFacts): Finding {
  const share = limitBytes === 0 ? 1 : usedBytes / limitBytes;
  const says = `${name} stores ${sizeOf(usedBytes)} of ${sizeOf(limitBytes)} (${Math.round(share * 100)} %).`;
  const remedy =
    "Raise NODE_MAX_FILE_STORE and the disk, or delete unused orbs. A full broker refuses writes.";
  if (share >= DISK_FAIL) return fail("disk", says, remedy);
  return share >= DISK_WARN ? warn("disk", says, remedy) : ok("disk", says);
}
