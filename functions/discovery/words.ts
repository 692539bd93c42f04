/** Texts about the whole description and its tags. */
export const DESCRIPTION = [
  "An application engine: orbs declare modules, schemas and the handlers that they use; their routes come from the declaration.",
  "Errors are `application/problem+json` (RFC 9457) with a stable `code`; every fault of an input is told at once in `errors`.",
  "An address answers other methods with 405 and `Allow`; GET takes HEAD too. Unknown parameters are 400, never ignored.",
  "`/api/_orbs…` is another name of `/api/admin/orbs…`: every path below one is served below the other.",
  "Lists that are paged answer `items` and `nextCursor`, short ones an array. `If-Match` takes an ETag, `Idempotency-Key` makes a POST repeatable for 24 hours.",
  "Every answer has an `X-Request-Id`, the one that was sent or a new one: logs name it.",
].join("\n\n");

export const TAGS = [
  { name: "Discovery", description: "What there is, and how it is." },
  { name: "Platform authentication", description: "Passkeys, invitations and accounts of platform admins." },
  {
    name: "Orb-level authentication",
    description:
      "Passkeys, invitations and accounts of users: the shared realm, and one for each orb that uses `access`.",
  },
  { name: "Orbs", description: "Definitions of applications: drafts, publication, revisions." },
  { name: "Entries", description: "Entries of orbs on the management API: every revision, drafts and all." },
  { name: "Handlers", description: "The registry of handlers." },
  { name: "Streams", description: "Broker streams over HTTP, and which ones are served." },
  { name: "Definitions", description: "Shapes of messages, and templates of modules." },
  { name: "Audit", description: "Who did what, and when." },
];
