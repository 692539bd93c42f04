/** Opens the user's browser. */
import { spawn } from "node:child_process";

/** Returns whether this computer probably has a browser that the user can see. */
export function hasBrowser(env: NodeJS.ProcessEnv, platform = process.platform): boolean {
  if (env.BROWSER) return true;
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  return platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
}

function commandOf(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (env.BROWSER) return [env.BROWSER];
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return ["xdg-open"];
}

/**
 * Opens a URL in the browser. Does not use a shell, so that no part of the URL can run as a command. Ignores errors,
 * because the command has printed the URL for the user.
 */
export function openBrowser(url: string, env: NodeJS.ProcessEnv, platform = process.platform): void {
  const [command, ...args] = commandOf(env, platform);
  const child = spawn(command, [...args, url], { detached: true, stdio: "ignore", env });
  child.on("error", () => undefined);
  child.unref();
}
