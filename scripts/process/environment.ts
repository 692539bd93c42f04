/** Environment variables of the system that every child process gets. */
const SYSTEM = ["PATH", "TMPDIR", "NODE_EXTRA_CA_CERTS"];

/**
 * Returns the system's variables for the environment of a child process. Returns no others, so that no secret reaches
 * the process by accident.
 */
export function systemVariables(): Record<string, string> {
  return Object.fromEntries(
    SYSTEM.flatMap((name) => {
      const value = process.env[name];
      return value ? [[name, value] as const] : [];
    }),
  );
}
