import { existsSync, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "../process/failure.ts";
import * as debian from "./debian.ts";
import { isRecentEnough, RECENT_ENOUGH, versionOf } from "./version.ts";

const EXECUTABLE = process.platform === "win32" ? "nats-server.exe" : "nats-server";

export interface Places {
  /** Value of the setting NATS_SERVER_BIN. If it is set, no other path is tried. */
  explicit?: string | undefined;
  path?: string | undefined;
  /** Folders that may contain a downloaded nats-server. A new download goes into the first one. */
  caches: string[];
  /** Called once before a download, because a download takes seconds. */
  say?: (line: string) => void;
}

/** Returns the command that installs the broker on this system. */
function advice(platform: NodeJS.Platform = process.platform): string {
  const need = `nats-server ${RECENT_ENOUGH} is needed and was not found. Install it with:`;
  if (platform === "darwin") return `${need} brew install nats-server`;
  if (platform === "win32") return `${need} winget install NATSAuthors.NATSServer`;
  return `${need} docker run -d -p 127.0.0.1:9222:9222 nats:2.15 (with JetStream and a WebSocket listener configured, then NATS_URL=ws://127.0.0.1:9222), or unpack a release of github.com/nats-io/nats-server and set NATS_SERVER_BIN to its binary.`;
}

/**
 * Returns the path of a recent nats-server that is installed or was downloaded earlier. On Debian and Ubuntu, downloads
 * one if necessary.
 */
export function findBroker({ explicit, path, caches, say }: Places): string {
  if (explicit !== undefined && explicit !== "") {
    const version = versionOf(explicit);
    if (version === undefined)
      throw new Failure(
        `NATS_SERVER_BIN=${explicit} is not a nats-server that runs on this system. Correct or unset it.`,
      );
    if (!isRecentEnough(version)) {
      throw new Failure(
        `NATS_SERVER_BIN=${explicit} is nats-server ${version}: ${RECENT_ENOUGH} is needed. Update it, or unset NATS_SERVER_BIN.`,
      );
    }
    return explicit;
  }
  const folders = [...(path ?? "").split(delimiter).filter((folder) => folder !== ""), ...caches];
  for (const folder of folders) {
    const candidate = join(folder, EXECUTABLE);
    if (!existsSync(candidate)) continue;
    const version = versionOf(candidate);
    if (version !== undefined && isRecentEnough(version)) return candidate;
  }
  const cache = caches[0];
  if (cache === undefined || !debian.isSupported()) throw new Failure(advice());
  say?.("Downloading nats-server from the distribution's archive …");
  mkdirSync(cache, { recursive: true });
  const target = join(cache, EXECUTABLE);
  const problems = debian.obtain(target);
  if (problems.length > 0) {
    throw new Failure(`nats-server could not be obtained with apt (${problems.join("; ")}). ${advice()}`);
  }
  return target;
}
