import { z } from "zod";
import { count, readVariables } from "../../functions/env.ts";

const Environment = z.object({
  HOOKS_ATTEMPTS: count(8, 1, 20),
  HOOKS_RETRY_MS: count(1_000, 10, 3_600_000),
});

/** @throws AppError invalid that names every invalid variable */
export const readHooksSettings = (env: Record<string, unknown>) => readVariables(Environment, env);
