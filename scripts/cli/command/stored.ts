/**
 * The tokens that `orb login` stores: one file for each platform, which only the user can read. A write replaces the
 * whole file, so commands that run at the same time cannot damage it.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { CommandError } from "./error.ts";

export interface StoredToken {
  v: 1;
  /** Address of the platform. */
  url: string;
  token: string;
  /** Id of the API token. */
  id: string;
  /** Name of the account. */
  account: string;
  /** ISO 8601 time. */
  expiresAt: string;
  /** ISO 8601 time. */
  savedAt: string;
}

/** Returns the URL of a platform in a normalized form, so that each platform has only one file. */
export function platformKey(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

/**
 * Returns the user's folder for tokens and for the progress of imports, as the XDG Base Directory Specification or the convention of Windows says.
 */
export function stateFolder(env: NodeJS.ProcessEnv): string {
  const { XDG_CONFIG_HOME: xdg = "", APPDATA: windows = "" } = env;
  // Ignore a relative path, as the XDG specification requires.
  if (isAbsolute(xdg)) return join(xdg, "orb");
  if (process.platform === "win32" && windows !== "") return join(windows, "orb");
  return join(env.HOME || homedir(), ".config", "orb");
}

/** Returns the path of the file that stores the token of a platform. */
export function storedPath(url: string, env: NodeJS.ProcessEnv): string {
  return join(stateFolder(env), `${encodeURIComponent(platformKey(url))}.json`);
}

function isStored(value: unknown): value is StoredToken {
  const names = ["url", "token", "id", "account", "expiresAt", "savedAt"];
  return (
    typeof value === "object" &&
    value !== null &&
    names.every((name) => typeof Reflect.get(value, name) === "string")
  );
}

function readAt(path: string): StoredToken | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new CommandError(`Cannot read ${path}. Make it readable for you, or delete it and run: orb login`);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isStored(value)) return value;
  } catch {
    // Not JSON: the error below says that the file is damaged.
  }
  throw new CommandError(`${path} is damaged. Delete it, and run: orb login`);
}

/**
 * Returns the stored token of a platform; null if there is none.
 * @throws CommandError if the file cannot be read or is damaged
 */
export function readStored(url: string, env: NodeJS.ProcessEnv): StoredToken | null {
  return readAt(storedPath(url, env));
}

/**
 * Stores a token.
 * @returns the path of the file
 */
export function writeStored(stored: StoredToken, env: NodeJS.ProcessEnv): string {
  const path = storedPath(stored.url, env);
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(stateFolder(env), { recursive: true, mode: 0o700 });
    rmSync(temporary, { force: true });
    // `wx` fails if another program has created a file or link at this path in the meantime.
    writeFileSync(temporary, `${JSON.stringify(stored, null, 2)}\n`, {
      mode: 0o600,
      flag: "wx",
      flush: true,
    });
    // The umask may have removed the owner's permissions. Restore them.
    chmodSync(temporary, 0o600);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`Cannot store the token (${reason}). Make the folder writable, and try again.`);
  }
  return path;
}

export function removeStored(url: string, env: NodeJS.ProcessEnv): void {
  rmSync(storedPath(url, env), { force: true });
}

/** Returns the URL of the platform that the user signed in to last; undefined if there is none. */
export function lastPlatform(env: NodeJS.ProcessEnv): string | undefined {
  const folder = stateFolder(env);
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch {
    return undefined;
  }
  const found = names.flatMap((name) => {
    try {
      return readAt(join(folder, name)) ?? [];
    } catch {
      // Skip a damaged file. It matters only to commands for its platform, which report it.
      return [];
    }
  });
  return found.sort((a, b) => (a.savedAt < b.savedAt ? 1 : -1))[0]?.url;
}
