import { createServer } from "node:net";
import { Failure, systemCode } from "./failure.ts";

/**
 * Tests a port by listening on it for a moment. Resolves to the port (to a free port for 0); rejects if the port is
 * in use.
 */
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

/** First port to try. The last one is below the range from which the system takes ports for outgoing connections. */
const FIRST_PORT = 15_000;
const LAST_PORT = 32_000;

/**
 * Returns a free port. While this process lives, no other process that calls this function gets the same port. So the
 * program that uses the port may start seconds later.
 */
export async function freePort(host = "127.0.0.1"): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if ((await reserve(port)) && (await isFree(port, host))) return port;
  }
  return probe(0, host);
}

/**
 * Reserves a port for this process with an abstract Unix socket. Only one process at a time can listen on such a
 * socket, and Linux frees it when the process ends. On other systems, the function reserves nothing.
 * @returns false if the port is reserved already
 */
function reserve(port: number): Promise<boolean> {
  if (process.platform !== "linux") return Promise.resolve(true);
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ path: `\0composable-platform-port-${port}` }, () => resolve(true));
    server.unref();
  });
}

export async function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  try {
    await probe(port, host);
    return true;
  } catch {
    return false;
  }
}

/**
 * Throws if a port is in use.
 * @param variable the setting that contains the port, for the error message
 */
export async function requirePort(port: number, variable: string, host = "127.0.0.1"): Promise<void> {
  try {
    await probe(port, host);
  } catch (error) {
    const code = systemCode(error);
    if (code === "EADDRINUSE") {
      throw new Failure(
        `Port ${port} is already in use. Stop the other program, or choose another port with ${variable}=….`,
      );
    }
    if (code === "EACCES")
      throw new Failure(`This user may not use port ${port}. Choose another port with ${variable}=….`);
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
      throw new Failure(`This machine has no address "${host}". Check HOST.`);
    throw error;
  }
}
