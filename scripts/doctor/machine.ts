/** Checks this machine (keys, settings, disk) and the public URL (certificate, version). */
import { existsSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../../shared/kernel/version.ts";
import { unfinishedRestore } from "../backup/swap.ts";
import { inspectCertificate } from "../broker/certificate.ts";
import { loadSecrets } from "../config/secrets.ts";
import type { Settings } from "../config/settings.ts";
import { type Finding, fail, MEND_DISK, messageOf, ok, sizeOf, warn } from "./finding.ts";

const MIB = 1024 * 1024;
const DISK_FAIL_BYTES = 256 * MIB;
const DISK_WARN_BYTES = 2048 * MIB;
const RESPONSE_LIMIT_MS = 5_000;

/** Checks the settings that browsers depend on. */
export function checkSettings({ publicUrl, host }: Settings): Finding {
  const { hostname } = new URL(publicUrl);
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  if (isLocal && host !== "127.0.0.1" && host !== "::1") {
    return warn(
      "settings",
      `The host listens on ${host}, but PUBLIC_URL is ${publicUrl}.`,
      "Set PUBLIC_URL to the address that people open, or unset HOST.",
    );
  }
  return ok("settings", `People open ${publicUrl}.`);
}

/** Checks that the file with the secret keys is valid, and that only its owner can read it. */
export async function checkKeys(dataDir: string): Promise<Finding> {
  const path = join(dataDir, "secrets.json");
  if (!existsSync(path)) {
    const isSet = ["JWT_SIGNING_KEYS", "ENCRYPTION_KEYS", "CLAIM_KEY"].every((name) => process.env[name]);
    return isSet
      ? ok("keys", "The keys come from variables.")
      : fail(
          "keys",
          `${path} does not exist, and the keys are not in variables.`,
          "Copy secrets.json from the machine that ran npm run provision. New keys cannot read what is stored.",
        );
  }
  await loadSecrets(dataDir);
  const { mode, uid } = statSync(path);
  if ((mode & 0o077) !== 0)
    return fail("keys", `Other users of this machine can read ${path}.`, `Run chmod 600 ${path}.`);
  const user = process.getuid?.();
  if (user !== undefined && user !== 0 && uid !== user)
    return fail("keys", `${path} belongs to another user.`, "Run the doctor as the user of the host.");
  return ok("keys", `Only its owner can read ${path}. Keep a copy elsewhere.`);
}

/** Checks the free disk space of the data folder. */
export function checkDisk(dataDir: string): Finding[] {
  const findings: Finding[] = [];
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  const says = `The disk of ${dataDir} has ${sizeOf(free)} free.`;
  const remedy = "Free some space, or move the folder to a larger disk. A full disk stops all writes.";
  if (free < DISK_FAIL_BYTES) findings.push(fail("disk", says, remedy));
  else findings.push(free < DISK_WARN_BYTES ? warn("disk", says, remedy) : ok("disk", says));
  if (unfinishedRestore(dataDir) !== undefined) {
    findings.push(
      fail("restore", "A restore was interrupted.", "Run npm run restore with the same folder again."),
    );
  }
  return findings;
}

/** Warn if a certificate expires within this many days. */
const RENEW_DAYS = 21;

/** Checks the certificate of an `https:` or `wss:` URL. */
export async function checkCertificate(address: string): Promise<Finding> {
  const { host } = new URL(address);
  const { days, fault } = await inspectCertificate(address);
  if (fault !== undefined) return fail("tls", fault.says, fault.remedy);
  if (days < RENEW_DAYS)
    return warn("tls", `The certificate of ${host} expires in ${days} days.`, "Renew it.");
  return ok("tls", `The certificate of ${host} is trusted, and valid for ${days} days.`);
}

/** Checks that the server at the public URL has the same version as this script. */
export async function checkHost(publicUrl: string): Promise<Finding> {
  const url = `${publicUrl}/api/health`;
  const away = (why: string) =>
    fail("host", `${url} does not answer with its health (${why}).`, "Check that a host and the proxy run.");
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(RESPONSE_LIMIT_MS), redirect: "manual" });
    if (response.status === 503) {
      const { code, detail } = (await response.json().catch(() => ({}))) as {
        code?: string;
        detail?: string;
      };
      return code === "writes_unavailable"
        ? fail("host", `${url} is 503: ${detail}`, MEND_DISK)
        : fail("host", `${url} is 503: the host cannot reach the broker.`, "Check NATS_URL of the host.");
    }
    if (!response.ok) return away(`status ${response.status}`);
    const { version } = (await response.json()) as { version?: string };
    if (version !== VERSION) {
      return warn(
        "version",
        `${publicUrl} runs version ${version}, and this folder is version ${VERSION}.`,
        "Update the older one. Run npm run provision with the newest version first.",
      );
    }
    return ok("host", `${publicUrl} answers with version ${version}.`);
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    return away(cause === undefined ? messageOf(error) : messageOf(cause));
  }
}
