/**
 * Acts: operations that a handler can perform on behalf of its caller. A handler lists the acts that it needs when it
 * registers. The application's document grants them in `uses`.
 */
export const ACTS = [
  "entries:read",
  "entries:write",
  "entries:publish",
  "entries:reveal",
  "transactions:record",
  "transactions:read",
  "settings:read",
  "settings:write",
  "rules:evaluate",
] as const;
export type Act = (typeof ACTS)[number];

/** The acts (permissions of handlers) that only read data. */
const READING: readonly Act[] = [
  "entries:read",
  "entries:reveal",
  "transactions:read",
  "settings:read",
  "rules:evaluate",
];

export function onlyReads(act: Act): boolean {
  return READING.includes(act);
}

/** The act that a handler needs for each operation on entries and change sets. `authorize.ts` checks it. */
export const ACT_OF = {
  read: "entries:read",
  readDraft: "entries:read",
  readRevisions: "entries:read",
  create: "entries:write",
  update: "entries:write",
  delete: "entries:write",
  publish: "entries:publish",
  unpublish: "entries:publish",
  archive: "entries:publish",
  restore: "entries:publish",
  reveal: "entries:reveal",
  record: "transactions:record",
  "changes.read": "entries:read",
  "changes.write": "entries:write",
  "changes.comment": "entries:write",
  "changes.approve": "entries:publish",
  "changes.publish": "entries:publish",
} as const satisfies Record<string, Act>;
