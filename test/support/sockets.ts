import { readFileSync } from "node:fs";

/** Established connections to a port of this machine, as the kernel reports them. */
export function connectionsTo(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const ESTABLISHED = "01";
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .flatMap((path) => readFileSync(path, "utf8").split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(local) && fields[3] === ESTABLISHED).length;
}
