/** The rights that an API token can have, also for pages and commands. */

/** Rights that a scope of an API token can grant in an application. */
export const CANS = ["read", "propose", "write", "publish", "manage"] as const;
export type Can = (typeof CANS)[number];

/** The names of the rights, and what they allow, for people who choose them. */
export const RIGHTS: Readonly<Record<Can, { name: string; words: string }>> = {
  read: { name: "Read", words: "entries, drafts and streams" },
  propose: {
    name: "Propose",
    words: "prepare changes in change sets, comment, and ask for a review; nothing else",
  },
  write: { name: "Write", words: "create, change and delete entries, call handlers" },
  publish: { name: "Publish", words: "make drafts public and withdraw them" },
  manage: { name: "Manage", words: "everything else: accounts, settings, tokens" },
};
