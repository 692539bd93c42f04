/** Variables that a child process needs from the system, in addition to its settings. */
const SYSTEM = ["PATH", "TMPDIR", "NODE_EXTRA_CA_CERTS"];

/** A child process gets no other variables of ours, so no secret reaches it by accident. */
export function systemVariables(): Record<string, string> {
  return Object.fromEntries(
    SYSTEM.flatMap((name) => {
      const value = process.env[name];
      return value ? [[name, value] as const] : [];
    }),
  );
}
