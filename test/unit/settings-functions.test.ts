import { expect, test } from "vitest";
import { readSettings } from "../../functions/env.ts";
import { defaultHeaders } from "../../functions/middleware/headers.ts";
import { generateKeys } from "../../scripts/config/secrets.ts";
import { readStreamsSettings } from "../../scripts/streams/settings.ts";

const good = {
  NATS_URL: "ws://broker.example",
  PUBLIC_URL: "https://platform.example",
  ...(await generateKeys()),
};

test("treats an empty variable as missing", () => {
  const { link, logLevel, config } = readSettings({ ...good, NATS_LINK_COUNT: "", LOG_LEVEL: "" });
  expect({ link, logLevel, longPollMs: config.longPollMs }).toEqual({
    link: { count: 1, location: undefined },
    logLevel: "info",
    longPollMs: 25_000,
  });
  expect(readStreamsSettings({ HOST: "", STREAMS_MAX: "" })).toMatchObject({
    HOST: "127.0.0.1",
    STREAMS_PORT: 52_012,
    STREAMS_MAX: 10_000,
  });
});

test("has the documented default quotas, and 0 means no quota", () => {
  const { quotas } = readSettings(good).config;
  expect(quotas).toEqual({
    windowSeconds: 60,
    longWindowSeconds: 86_400,
    accountWrites: 6_000,
    orbWrites: 60_000,
    accountCalls: 6_000,
    orbCalls: 60_000,
    accountBytes: 2 * 1024 ** 3,
    orbBytes: 20 * 1024 ** 3,
    orbFileBytes: 100 * 1024 ** 3,
    accountConflicts: 5,
    networkSignups: 10,
    realmSignups: 1_000,
    readersPerUser: 100,
    readersPerAdmin: 6_000,
    readersPerOrb: 5_000,
  });
  expect(readSettings({ ...good, QUOTA_ORB_MIB: "0" }).config.quotas.orbBytes).toBe(0);
});

test("sends Strict-Transport-Security only with an https PUBLIC_URL", () => {
  const said = (publicUrl: string) =>
    defaultHeaders(readSettings({ ...good, PUBLIC_URL: publicUrl }).config)["strict-transport-security"];
  expect(said("https://platform.example")).toBe("max-age=31536000; includeSubDomains");
  expect(said("http://localhost:8787")).toBeUndefined();
});

test("normalizes origins", () => {
  const { config } = readSettings({ ...good, ALLOWED_ORIGINS: "*, https://APP.example/" });
  expect(config.allowedOrigins).toEqual(["*", "https://app.example"]);
});

test.each([
  [
    { PUBLIC_URL: "http://127.0.0.1:9731" },
    "PUBLIC_URL is an IP address, but passkeys need a host name. Set it to an origin such as http://localhost:8787 or https://platform.example",
  ],
  [
    { PUBLIC_URL: "http://platform.example" },
    "PUBLIC_URL must begin with https, because browsers support passkeys over http on localhost only",
  ],
  [
    { PUBLIC_URL: "https://platform.example/path" },
    "PUBLIC_URL is not an origin. Set it to one such as https://platform.example",
  ],
  [
    { ALLOWED_ORIGINS: "https://app.example,foo.com" },
    "ALLOWED_ORIGINS must be * or comma-separated origins such as https://app.example",
  ],
  [{ STREAMS_URL: "foo" }, "STREAMS_URL must be an address such as https://streams.example"],
  [{ NATS_URL: undefined }, "NATS_URL is missing"],
  [{ NATS_URL: "nats://broker" }, "NATS_URL must be a ws:// or wss:// address"],
  [{ NATS_LINK_COUNT: "0" }, "NATS_LINK_COUNT must be a whole number from 1 to 64"],
  [{ NATS_LINK_COUNT: "-1.5" }, "NATS_LINK_COUNT must be a whole number from 1 to 64"],
  [{ NATS_LINK_COUNT: 2 }, "NATS_LINK_COUNT must be text"],
  [{ STREAMS_LONG_POLL_MS: "soon" }, "STREAMS_LONG_POLL_MS must be a whole number from 10 to 60000"],
  [{ QUOTA_WINDOW_SECONDS: "90" }, "QUOTA_WINDOW_SECONDS must be a whole number from 1 to 60"],
  [{ QUOTA_LONG_WINDOW_SECONDS: "0" }, "QUOTA_LONG_WINDOW_SECONDS must be a whole number from 1 to 86400"],
  [{ QUOTA_ACCOUNT_WRITES: "-1" }, "QUOTA_ACCOUNT_WRITES must be a whole number from 0 to 1000000000"],
  [{ QUOTA_ORB_MIB: "all" }, "QUOTA_ORB_MIB must be a whole number from 0 to 1000000000"],
  [{ STREAMS_MAX_PER_USER: "0" }, "STREAMS_MAX_PER_USER must be a whole number from 1 to 1000000"],
  [
    { NATS_LINK_LOCATION: "moon" },
    "NATS_LINK_LOCATION must be wnam, enam, sam, weur, eeur, apac, oc, afr or me",
  ],
  [{ LOG_LEVEL: "loud" }, "LOG_LEVEL must be debug, info, warn, error or silent"],
])("refuses %j with a plain sentence", (wrong, said) => {
  expect(() => readSettings({ ...good, ...wrong })).toThrow(`The settings are not valid: ${said}.`);
});

test("the streams process reports all invalid settings at once", () => {
  expect(() => readStreamsSettings({ STREAMS_MAX: "many", STREAMS_PORT: "70000" })).toThrow(
    "The settings are not valid: STREAMS_PORT must be a whole number from 0 to 65535; STREAMS_MAX must be a whole number from 1 to 1000000.",
  );
});
