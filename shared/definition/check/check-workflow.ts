/** Reports review rules that name an unknown role, module or schema. */
import { clip, type Faults, joinNames } from "../../kernel/faults.ts";
import { REVIEWER_ROLES, ROLE_ID } from "../document/index.ts";
import { namedModule } from "./check-place.ts";
import type { LooseDocument } from "./loose.ts";

export function checkWorkflow(document: LooseDocument, faults: Faults): void {
  const roles = document.roles.map(({ value }) => value);
  for (const rule of document.review) {
    for (const { path, value } of rule.by) {
      // Skip names that cannot be role ids. The Zod schema of the document rejects them.
      if (REVIEWER_ROLES.includes(value) || roles.includes(value) || !ROLE_ID.test(value)) continue;
      const known = joinNames([...REVIEWER_ROLES, ...roles.map(clip)]);
      faults.add(
        path,
        "unknown_role",
        `must be one of ${known}. Add the role to roles, or correct its name.`,
      );
    }
    namedModule(document, rule, faults);
  }
}
