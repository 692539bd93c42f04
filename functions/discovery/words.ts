export const DESCRIPTION = [
  "An application engine. Orbs declare modules, schemas and handlers, and each published orb gets an API.",
  "Errors are `application/problem+json` (RFC 9457) with a stable `code`. `errors` lists all faults of the input at once.",
  "Methods that an address does not support get 405 with `Allow`. HEAD works wherever GET does. Unknown query parameters get 400.",
  "`/api/_orbs…` is an alias of `/api/admin/orbs…`.",
  "Paged lists return `items` and `nextCursor`, short lists an array. `If-Match` takes an ETag. `Idempotency-Key` makes a POST safe to repeat for 24 hours.",
  "Every response has an `X-Request-Id`: the request's own or a new one. Log lines contain it.",
].join("\n\n");

export const TAGS = [
  { name: "Discovery", description: "API description, published orbs, active routes, health and metrics." },
  { name: "Platform: sign-in", description: "Registration and sign-in of platform admins." },
  { name: "Platform: own account", description: "Account and passkeys of the signed-in platform admin." },
  { name: "Platform: recovery", description: "Recovery of platform admins who lost their passkeys." },
  { name: "Platform: admins", description: "Platform admins and their invitations." },
  { name: "Users: sign-in", description: "Registration and sign-in in the shared realm." },
  { name: "Users: own account", description: "Account and passkeys of the signed-in user." },
  { name: "Users: recovery", description: "Recovery of users who lost their passkeys." },
  { name: "Users: management", description: "Users of the shared realm and their invitations." },
  { name: "Orbs", description: "Definitions of applications: drafts, publication, revisions." },
  {
    name: "Entries",
    description: "Entries of orbs on the management API, including drafts and all revisions.",
  },
  { name: "Entries: many at once", description: "Writes of many entries in one request." },
  { name: "Deliveries", description: "Deliveries of the hooks after writes, and calls of schedules." },
  { name: "Handlers", description: "The registry of handlers." },
  { name: "Streams", description: "Broker streams over HTTP, and which ones are served." },
  { name: "Definitions", description: "Message schemas and module templates." },
  { name: "Agents", description: "Tools of the Model Context Protocol." },
  { name: "Audit", description: "Records of administrative actions." },
];
