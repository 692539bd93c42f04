/** The command `orb doctor`: checks everything that the other commands need, and says how to fix problems. */

import { statSync } from "node:fs";
import { isProblem } from "../../shared/client/problem.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import { type Finding, fail, lineOf, messageOf, ok, warn } from "../doctor/finding.ts";
import { type Scope, scopesInWords } from "./account/scopes.ts";
import { CommandError, type Context, manage } from "./command/context.ts";
import { storedPath } from "./command/stored.ts";
import { say } from "./command/terminal.ts";
import { baseOfToken, claimsOf } from "./command/token.ts";
import { localOrbs } from "./files.ts";
import { compare } from "./schemas.ts";

const DAY_MS = 24 * 3_600_000;
/** The command warns if the token expires within this many milliseconds. */
const SOON_MS = 3 * DAY_MS;
/**
 * The command warns if the clocks differ by more than this many milliseconds, because sign-in codes are valid for
 * only a minute.
 */
const SKEW_MS = 30_000;
const OWN_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Facts about the platform from its first response. */
interface Reached {
  version: string;
  /** Milliseconds by which this computer's clock is ahead; undefined if the response contains no time. */
  skewMs: number | undefined;
}

function checkConfig({ credential, url, env, loginCommand }: Context): Finding {
  if (credential.from === "environment")
    return ok("config", "ORB_TOKEN is set. It takes precedence over stored tokens.");
  const path = storedPath(url, env);
  if (credential.from === "nowhere")
    return fail(
      "config",
      `There is no token for ${url}: ORB_TOKEN is not set, and ${path} does not exist.`,
      `Run: ${loginCommand}`,
    );
  // Windows has no permission bits.
  const open = process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0;
  if (open)
    return fail("config", `Other users of this computer can read ${path}.`, `Run: chmod 600 "${path}"`);
  return ok("config", `${path} has a token of ${credential.stored.account}.`);
}

/** @returns null if the platform cannot be reached */
async function checkAddress(context: Context): Promise<{ finding: Finding; reached: Reached | null }> {
  const { url, transport } = context;
  const { hostname, protocol } = new URL(url);
  const began = Date.now();
  let response: Response;
  try {
    response = await transport.send({ method: "GET", path: "/api/health", repeat: "refused" });
  } catch (error) {
    const finding = isProblem(error)
      ? fail(
          "address",
          `${url} does not work as a platform (${error.message}).`,
          "Check the address: --url or ORB_URL. If it is right, ask the operator of the platform.",
        )
      : fail(
          "address",
          `${url} cannot be reached.`,
          "Check that the platform runs there, and set --url or ORB_URL.",
        );
    return { finding, reached: null };
  }
  const ended = Date.now();
  const body = (await response.json().catch(() => null)) as { version?: unknown; time?: unknown } | null;
  const { version, time } = body ?? {};
  if (typeof version !== "string") {
    const finding = fail(
      "address",
      `${url} answers, but it is not a platform.`,
      "Set --url or ORB_URL to the address of a platform.",
    );
    return { finding, reached: null };
  }
  const theirs = Date.parse(String(time));
  const skewMs = Number.isNaN(theirs) ? undefined : (began + ended) / 2 - theirs;
  const isOpen = protocol === "http:" && !OWN_HOSTS.has(hostname);
  const finding = isOpen
    ? warn(
        "address",
        `${url} answers without encryption. Others in the network can read your token.`,
        "Use an address that begins with https://",
      )
    : ok("address", `${url} answers in ${ended - began} ms.`);
  return { finding, reached: { version, skewMs } };
}

function checkVersion({ version }: Reached): Finding {
  if (version === VERSION) return ok("version", `The platform and this package have the version ${VERSION}.`);
  return warn(
    "version",
    `The platform has the version ${version}, and this package ${VERSION}.`,
    `Install the package of version ${version}.`,
  );
}

function checkClock({ skewMs }: Reached): Finding {
  if (skewMs === undefined)
    return warn(
      "clock",
      "The platform does not say its time, so the clocks cannot be compared.",
      "Update the platform.",
    );
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  if (Math.abs(skewMs) <= SKEW_MS)
    return ok("clock", `The clocks of this computer and of the platform agree.`);
  const where = skewMs > 0 ? "ahead of" : "behind";
  return warn(
    "clock",
    `The clock of this computer is ${seconds} seconds ${where} the platform's.`,
    "Set the clock, for example from a time server.",
  );
}

function checkEnd(end: string, rights: string, again: string): Finding {
  const left = Date.parse(end) - Date.now();
  const says = `${rights}, until ${end.slice(0, 16).replace("T", " ")} UTC.`;
  return left > SOON_MS ? ok("token", says) : warn("token", says, `It ends soon. ${again}`);
}

async function checkToken(context: Context): Promise<Finding> {
  const { loginCommand } = context;
  const { token = "", from } = context.credential;
  const again =
    from === "environment"
      ? `Set ORB_TOKEN to a new token, or unset it and run: ${loginCommand}`
      : `Run: ${loginCommand}`;
  const base = baseOfToken(token);
  if (base === null) return fail("token", "ORB_TOKEN is not a token of the platform.", again);
  try {
    const account = await manage<{ name: string }>(context, "GET", `${base}/me`);
    if (!token.startsWith("orbtok_")) {
      const exp = claimsOf(token)?.exp;
      const end = new Date((exp ?? 0) * 1_000).toISOString();
      return ok("token", `A session of ${account.name}, until ${end.slice(0, 16).replace("T", " ")} UTC.`);
    }
    const current = await manage<{ name: string; scopes: Scope[]; expiresAt: string }>(
      context,
      "GET",
      `${base}/tokens/current`,
    );
    const rights = `"${current.name}" of ${account.name} may ${scopesInWords(current.scopes)}`;
    if (current.expiresAt === "never") return ok("token", `${rights}. It has no end.`);
    return checkEnd(current.expiresAt, rights, again);
  } catch (error) {
    if (isProblem(error) && error.status === 401) return fail("token", error.message, again);
    throw error;
  }
}

async function checkOrbs(context: Context): Promise<Finding[]> {
  const ids = await localOrbs(context.dir);
  if (ids.length === 0)
    return [ok("orbs", `The folder ${context.dir} has no orbs. To write them, run: orb pull`)];
  const findings: Finding[] = [];
  for (const id of ids) findings.push(await checkOrb(context, id));
  return findings;
}

async function checkOrb(context: Context, id: string): Promise<Finding> {
  try {
    const difference = await compare(context, id);
    if (difference.state === "same") return ok("orbs", `${id} is the same on the platform.`);
    if (difference.state === "new")
      return warn("orbs", `${id} is not on the platform.`, `Run: orb push ${id}`);
    const says = `${id} differs from the platform.`;
    if (difference.refused) return fail("orbs", says, `The platform refuses the change. Run: orb diff ${id}`);
    return warn("orbs", says, `To see the differences, run: orb diff ${id}`);
  } catch (error) {
    if (error instanceof CommandError) return fail("orbs", error.message, "Correct the file.");
    if (!isProblem(error)) throw error;
    if (error.status === 401 || error.status === 403)
      return warn(
        "orbs",
        `${id} is not compared: ${error.message}`,
        "Comparing needs the token of a platform admin that may manage orbs.",
      );
    const faults = error.errors.map(({ path, message }) => `${path} ${message}`).join("; ");
    return fail(
      "orbs",
      `${id} is not valid: ${faults || error.message}`,
      `Correct ${context.dir}/${id}.json`,
    );
  }
}

/** Reads the newest offset of a stream that every signed-in account may read. */
async function checkStreams(context: Context): Promise<Finding> {
  const { transport } = context;
  const read = async (path: string, query?: URLSearchParams) => {
    const response = await transport.send({
      method: "GET",
      path,
      repeat: "refused",
      ...(query === undefined ? {} : { query }),
    });
    return (await response.json()) as unknown[];
  };
  try {
    const streams = (await read("/api/streams/")) as { name: string }[];
    const [first] = streams;
    if (first !== undefined)
      await read(`/api/streams/${encodeURIComponent(first.name)}`, new URLSearchParams({ offset: "now" }));
    return ok("streams", `${streams.length} streams can be read.`);
  } catch (error) {
    if (isProblem(error, "missing_scope"))
      return warn(
        "streams",
        "The token may not list streams.",
        `To read streams of all orbs, sign in with: ${context.loginCommand}`,
      );
    if (isProblem(error))
      return fail("streams", error.message, "Ask the operator of the platform to run: npm run doctor");
    return fail(
      "streams",
      "The streams process cannot be reached.",
      "Check that your network allows its address, or ask the operator of the platform.",
    );
  }
}

/**
 * Runs all checks. If the platform cannot be reached or there is no token, skips the checks that need it.
 * @returns 1 if a check failed, otherwise 0
 */
export async function doctor(context: Context): Promise<number> {
  const found: Finding[] = [];
  const add = (findings: Finding | Finding[]) => {
    for (const finding of [findings].flat()) {
      found.push(finding);
      if (!context.json) say("stdout", lineOf(finding));
    }
  };
  const check = async (about: string, run: () => Promise<Finding | Finding[]>) => {
    try {
      add(await run());
    } catch (error) {
      add(
        fail(
          about,
          `The check could not run (${messageOf(error)}).`,
          "Try again. If it fails again, ask the operator of the platform.",
        ),
      );
    }
  };
  add(checkConfig(context));
  const { finding, reached } = await checkAddress(context);
  add(finding);
  if (reached !== null) {
    add([checkVersion(reached), checkClock(reached)]);
    if (context.credential.from !== "nowhere") {
      await check("token", () => checkToken(context));
      const isValid = found.at(-1)?.level !== "fail";
      if (isValid) {
        await check("orbs", () => checkOrbs(context));
        await check("streams", () => checkStreams(context));
      }
    }
  }
  const failed = found.filter(({ level }) => level === "fail").length;
  const warned = found.filter(({ level }) => level === "warn").length;
  context.result(
    { ok: failed === 0, findings: found },
    () => `\n${found.length} checks, ${failed} failed, ${warned} with a warning.`,
  );
  return failed === 0 ? 0 : 1;
}
