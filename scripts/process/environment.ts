/** Environment variables of the system that every child process gets. */
const SYSTEM = ["PATH", "TMPDIR", "NODE_EXTRA_CA_CERTS"];

/**
 * Returns the environment variables of the system for a child process. Returns no other variables, so that the
 * process cannot get a secret by accident.
 */
export function systemVariables(): Record<string, string> {
  return Object.fromEntries(
    SYSTEM.flatMap((name) => {
      const value = process.env[name];
      return value ? [[name, value] as const] : [];
    }),
  );
}
