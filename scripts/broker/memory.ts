import { totalmem } from "node:os";

/**
 * Percentage by which the broker's memory may grow before the next garbage collection. With Go's default, 100, the
 * broker holds up to twice the memory in use: the index of subjects, and the files that were just read or written.
 */
const GOGC = 50;

/**
 * Maximum share of the machine's memory for the brokers. Near this limit, they collect garbage more often, because
 * other processes need memory too.
 */
const SHARE = 0.5;

const MIB = 2 ** 20;

/** Returns the memory in bytes that the processes of this machine or container can use. */
function availableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/**
 * Returns the environment variables for the broker's Go runtime. If the environment already sets one of them, that
 * value is used.
 * @param brokers number of brokers on this machine
 */
export function memorySettings(brokers: number, memory = availableMemory()): Record<string, string> {
  const limit = Math.floor((memory * SHARE) / brokers / MIB);
  return {
    GOGC: String(GOGC),
    GOMEMLIMIT: `${limit}MiB`,
  };
}
