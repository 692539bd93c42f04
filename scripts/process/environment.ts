/** Environment variables that every child process gets from the system. */
const SYSTEM = ["PATH", "TMPDIR", "NODE_EXTRA_CA_CERTS"];

/**
 * Returns the system's environment variables for a child process. It gets no others, so that no secret reaches it by
 * accident.
 */
export function systemVariables(): Record<string, string> {
  return Object.fromEntries(
    SYSTEM.flatMap((name) => {
      const value = process.env[name];
      return value ? [[name, value] as const] : [];
    }),
  );
}
