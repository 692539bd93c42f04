import { createServer } from "node:net";
import { Failure, systemCode } from "./failure.ts";

/** Listens for a moment; resolves to the port (the given one, or a free one for 0), rejects when it is taken. */
function probe(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      const bound = typeof address === "object" && address !== null ? address.port : port;
      server.close(() => resolve(bound));
    });
  });
}

/** Below the ports that systems give to outgoing connections: one of those could be taken again at any moment. */
const FIRST_PORT = 15_000;
const LAST_PORT = 32_000;

/** A port that is free now on the host. */
export async function freePort(host = "127.0.0.1"): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (await isFree(port, host)) return port;
  }
  return probe(0, host);
}

/** True when the port can be listened on now. */
export async function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  try {
    await probe(port, host);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes sure that a port can be used.
 * @param variable name of the setting which chose it, for the message
 * @throws Failure in one line when it is taken or not allowed
 */
export async function requirePort(port: number, variable: string, host = "127.0.0.1"): Promise<void> {
  try {
    await probe(port, host);
  } catch (error) {
    const code = systemCode(error);
    if (code === "EADDRINUSE") {
      throw new Failure(
        `Port ${port} is taken: stop what listens there, or choose another with ${variable}=….`,
      );
    }
    if (code === "EACCES")
      throw new Failure(`Port ${port} is not allowed to this user: choose another with ${variable}=….`);
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
      throw new Failure(`This machine has no address "${host}": check HOST.`);
    throw error;
  }
}
