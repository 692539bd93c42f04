import { z } from "zod";
import { count, readVariables } from "../../functions/env.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMES } from "../../shared/streams/read/index.ts";

const most = (fallback: number) => count(fallback, 1, 1_000_000);
const Environment = z.object({
  HOST: z
    .string()
    .optional()
    .transform((host) => host || "127.0.0.1"),
  TRUST_PROXY: z
    .string()
    .optional()
    .transform((value) => value === "true"),
  STREAMS_PORT: count(52_012, 0, 65_535),
  STREAMS_MAX: most(DEFAULT_LIMITS.total),
  STREAMS_MAX_PER_USER: most(DEFAULT_LIMITS.perUser),
  STREAMS_MAX_PER_ADMIN: most(DEFAULT_LIMITS.perAdmin),
  STREAMS_MAX_PER_ORB: most(DEFAULT_LIMITS.perOrb),
  STREAMS_ROTATE_MS: most(DEFAULT_TIMES.rotateMs),
});

/** @throws AppError invalid that names every invalid variable */
export const readStreamsSettings = (env: Record<string, unknown>) => readVariables(Environment, env);
