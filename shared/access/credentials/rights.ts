/** The rights that an API token can have, also for pages and commands. */

/** Rights that a scope of an API token can grant in an application. */
export const CANS = ["read", "propose", "write", "publish", "manage"] as const;
export type Can = (typeof CANS)[number];
