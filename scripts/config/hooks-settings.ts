import { z } from "zod";
import { count, isLocalUrl, readVariables } from "../../functions/env.ts";
import { networks } from "./networks.ts";

const Environment = z
  .object({
    PUBLIC_URL: z.string().optional(),
    HOOKS_LOOPBACK: z
      .enum(["true", "false"], { error: "must be true or false" })
      .optional()
      .transform((value) => value === "true"),
    HOOKS_ATTEMPTS: count(8, 1, 20),
    HOOKS_RETRY_MS: count(1_000, 10, 3_600_000),
    HOOKS_ALLOWED_NETWORKS: z
      .string()
      .optional()
      .transform((text, context) => {
        try {
          return networks((text ?? "").split(",").flatMap((part) => part.trim() || []));
        } catch {
          context.addIssue("must be networks such as 10.0.0.0/8 or fd00::/8, separated by commas");
          return z.NEVER;
        }
      }),
  })
  .superRefine(({ HOOKS_LOOPBACK, PUBLIC_URL }, context) => {
    if (HOOKS_LOOPBACK && !isLocalUrl(PUBLIC_URL ?? "")) {
      const message =
        "is for development, so PUBLIC_URL must be on localhost. Unset it, or use HOOKS_ALLOWED_NETWORKS";
      context.addIssue({ code: "custom", path: ["HOOKS_LOOPBACK"], message });
    }
  });

/** @throws AppError `invalid` that lists every invalid variable */
export const readHooksSettings = (env: Record<string, unknown>) => readVariables(Environment, env);
