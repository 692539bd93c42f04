/** Review rules of an application: who must approve a change set before it can be published. */
import { z } from "zod";
import { type Grant, MAX_ROLES, type OrbRoles, roleGrant } from "./access.ts";
import { MODULE_ID, ROLE_ID, SCHEMA_ID } from "./ids.ts";

/** The built-in roles that a review rule can name. */
export const REVIEWER_ROLES: readonly string[] = ["user", "admin", "owner"];

/** `total` is the maximum sum of the approvals of all rules. */
export const REVIEW_LIMITS = { rules: 50, approvals: 10, total: 50 } as const;

const reviewRuleSchema = z
  .strictObject({
    approvals: z.int().min(1).max(REVIEW_LIMITS.approvals).optional().meta({
      description: "How many of these accounts must approve. Default: 1.",
    }),
    by: z
      .array(z.string().regex(ROLE_ID, "must be user, admin, owner or a role of the orb"))
      .min(1)
      .max(REVIEWER_ROLES.length + MAX_ROLES)
      .refine((list) => new Set(list).size === list.length, {
        error: "must not name a role twice",
        params: { code: "duplicate" },
      })
      .meta({ description: "Roles whose accounts may approve.", example: ["admin"] }),
    module: z
      .string()
      .regex(MODULE_ID, "must be the id of a module")
      .optional()
      .meta({ description: "Only sets with entries of this module.", example: "catalog" }),
    schema: z
      .string()
      .regex(SCHEMA_ID, "must be the id of a schema")
      .optional()
      .meta({ description: "Only sets with entries of this schema of the module.", example: "product" }),
    notAuthor: z.boolean().optional().meta({
      description: "true: approvals of accounts that opened the set or wrote into it do not count.",
    }),
  })
  .meta({ id: "OrbReviewRule", description: "Who must approve a change set before it can be published." });

const demanded = (rules: readonly { approvals?: number | undefined }[]) =>
  rules.reduce((sum, { approvals = 1 }) => sum + approvals, 0);

export const workflowSchema = z
  .strictObject({
    review: z
      .array(reviewRuleSchema)
      .min(1)
      .max(REVIEW_LIMITS.rules, { abort: true })
      .refine((rules) => demanded(rules) <= REVIEW_LIMITS.total, {
        error: `must demand at most ${REVIEW_LIMITS.total} approvals in total. Lower approvals, or combine rules.`,
        params: { code: "too_many" },
      })
      .meta({
        description: `Every rule that concerns an entry of a set must be met. In total, the rules demand at most ${REVIEW_LIMITS.total} approvals.`,
      }),
  })
  .meta({ id: "OrbWorkflow", description: "What must happen before a change set can be published." });

/** A rule that decides which approvals a change set needs. */
export interface ReviewRule {
  /** Number of accounts that must approve. */
  approvals: number;
  /** The roles as the document lists them. */
  roles: readonly string[];
  by: Grant;
  module?: string;
  schema?: string;
  notAuthor: boolean;
}

export function compileWorkflow(
  workflow: z.output<typeof workflowSchema> | undefined,
  roles: OrbRoles,
): ReviewRule[] {
  return (workflow?.review ?? []).map(({ approvals = 1, by, module, schema, notAuthor = false }) => ({
    approvals,
    roles: by,
    by: roleGrant(by, roles),
    ...(module === undefined ? {} : { module }),
    ...(schema === undefined ? {} : { schema }),
    notAuthor,
  }));
}
