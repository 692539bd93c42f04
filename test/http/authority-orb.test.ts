/**
 * An orb that changes while a body arrives. Every route that takes a body gets its head and half of its body, then the
 * orb changes, then the rest arrives. {@link ROUTES} has the expected refusals of each route, and the reasons.
 */

import { beforeAll, describe, expect, test } from "vitest";
import { begin, type SignedIn, user } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { fileAdmin } from "../support/file-admin.ts";
import {
  beginSplit,
  bodyRoutes,
  type SlowRequest,
  type SplitAnswer,
  type SplitRequest,
  type Transfer,
  whenReached,
} from "../support/split-body.ts";
import { programRequest, VERIFIER } from "../support/tokens.ts";
import { writtenState } from "../support/written.ts";

const { platform, store, token, as } = await fileAdmin({ link: true });
let owner: SignedIn;
let member: SignedIn;
let spare: SignedIn;
beforeAll(async () => {
  owner = await user(platform, "auth", "owner");
  member = await user(platform, "auth");
  spare = await user(platform, "auth");
});

type Access = { read: string; write: string };
const OPEN: Access = { read: "public", write: "user" };
const CLOSED: Access = { read: "public", write: "owner" };
const fields = [{ name: "title", type: "string" }];
const OF_ARTICLES = [
  { name: "paper", type: "file" },
  { name: "code", type: "string", unique: true },
];
const PART = "application/offset+octet-stream";

/** An orb with accounts of its own, or one that uses the accounts that orbs share. */
const document = (id: string, realm: Realm, access = OPEN) => ({
  id,
  uses: [
    ...(realm === "own" ? [{ service: "access", handlers: ["passkey", "invitations"] }] : []),
    { service: "transactions", handlers: ["record"] },
    { service: "settings", handlers: ["set"] },
  ],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          ...{ id: "article", access, fields: [...fields, ...OF_ARTICLES] },
          preview: { url: "https://site.example/news/{id}" },
        },
      ],
    },
    {
      id: "ledger",
      type: "TRANSACTIONS",
      schemas: [{ id: "payment", access: { write: access.write }, fields }],
    },
    { id: "choices", type: "SETTINGS", schemas: [{ id: "choice", fields }] },
  ],
});

type Realm = "own" | "shared";

/** The changes of an orb. */
const CHANGES = {
  "stays as it is": async () => undefined,
  "lets only owners write": ({ orb, realm }: Place) =>
    as("PUT", `/api/admin/orbs/${orb}?publish=true`, document(orb, realm, CLOSED)),
  "gives up its own accounts": ({ orb }: Place) =>
    as("PUT", `/api/admin/orbs/${orb}?publish=true`, document(orb, "shared")),
  "is unpublished": ({ orb }: Place) => as("POST", `/api/admin/orbs/${orb}/unpublish`),
  "is archived": ({ orb }: Place) => as("POST", `/api/admin/orbs/${orb}/archive`),
  "is deleted": ({ orb }: Place) => as("DELETE", `/api/admin/orbs/${orb}`),
  "is deleted and recreated": async ({ orb, realm }: Place) => {
    expect((await as("DELETE", `/api/admin/orbs/${orb}`)).status).toBe(204);
    return as("POST", "/api/admin/orbs?publish=true", document(orb, realm, CLOSED));
  },
} as const;
type ChangeName = keyof typeof CHANGES;

/** The status of the refusal after each change. After every other change the request is accepted. */
type Refusals = Partial<Record<ChangeName, number>>;

/** An orb with its accounts and one entry. */
interface Place {
  orb: string;
  realm: Realm;
  owner: SignedIn;
  member: SignedIn;
  /** An account of the orb's realm that no other request uses. */
  other: SignedIn;
  /** An entry that the member created. */
  entry: string;
  /** How the orb will change. */
  change: ChangeName;
  /** Change sets for requests that will be refused, by whether they are in review. */
  sets: Map<boolean, Promise<string>>;
}

/** A request, and when it is refused. */
interface Row extends Omit<SplitRequest, "method" | "path"> {
  refused: Refusals;
  /** Replaces the path of the route. */
  path?: string;
}

/** An account of the platform or of the shared realm does not depend on an orb. */
const NEVER: Refusals = {};
/** A platform admin may write the document and new entries of every orb that exists, live or not. */
const WITHOUT_ORB: Refusals = { "is deleted": 404 };
/** Without If-Match the client asks to replace whatever is there, unless its status forbids that. */
const OF_EXISTING: Refusals = { ...WITHOUT_ORB, "is archived": 409 };
/** The recreated orb does not have this entry, or is not the one that the upload began with. */
const IN_ANOTHER_ORB: Refusals = { "is deleted": 404, "is deleted and recreated": 404 };
/** Each change is a revision that the client does not know. */
const AT_ANOTHER_REVISION: Refusals = {
  "lets only owners write": 412,
  "gives up its own accounts": 412,
  "is unpublished": 412,
  "is archived": 412,
  "is deleted": 404,
  "is deleted and recreated": 412,
};
/** Only a live orb has routes. */
const OFFLINE: Refusals = { "is unpublished": 404, "is archived": 404, "is deleted": 404 };
/** Only an orb with accounts of its own has these routes, and the recreated orb does not have the account. */
const OF_ACCOUNT: Refusals = {
  ...OFFLINE,
  "gives up its own accounts": 404,
  "is deleted and recreated": 401,
};

/** An owner may still write. The recreated orb knows the owner only if its accounts are those that orbs share. */
const byOwner = ({ realm }: Place, inAnother?: number): Refusals => ({
  ...OFFLINE,
  ...(realm === "own" ? { "gives up its own accounts": 403, "is deleted and recreated": 401 } : {}),
  ...(realm === "shared" && inAnother !== undefined ? { "is deleted and recreated": inAnother } : {}),
});
/** A member may no longer write. */
const byMember = (at: Place, inAnother = 403): Refusals => ({
  ...byOwner(at, inAnother),
  "lets only owners write": 403,
});

let number = 0;
const fresh = (prefix: string) => `${prefix}${++number}`;
const json = (value: unknown) => JSON.stringify(value);
const late = json({ values: { title: "late" } });
const lateManaged = json({ module: "news", values: { title: "late" } });
const lateBatch = json({ do: [{ create: "news/article", values: { title: "late" } }] });
const lateSet = json({ title: "late" });
const robot = json({ name: "Robot", service: true });
const lateUnsaved = json({ revision: 1, base: { values: {} }, draft: { values: { title: "late" } } });
const ping = json({ jsonrpc: "2.0", id: 1, method: "ping" });
const lines = "application/x-ndjson";

/** Begins a registration, and returns the request that completes it. */
async function registering(base: string): Promise<Pick<SplitRequest, "body" | "headers">> {
  const wanted = base === "/api/_auth" ? undefined : { role: "user" };
  const { body } = await as("POST", `${base}/invitations`, wanted);
  const { sessionId, publicKey } = await begin(platform, base, { invite: body.token });
  const credential = new Authenticator(platform.origin).create(publicKey);
  return base === "/api/_auth"
    ? { body: json({ sessionId, credential }) }
    : { body: json(credential), headers: { SessionID: sessionId } };
}

/** Begins a sign-in, and returns the request that completes it. */
async function signingIn(base: string, by: SignedIn): Promise<Pick<SplitRequest, "body" | "headers">> {
  const { sessionId, publicKey } = await begin(platform, base);
  return { body: json(by.authenticator.get(publicKey)), headers: { SessionID: sessionId } };
}

const orbLine = (orb: object) => ({
  kind: "orb",
  v: 1,
  document: orb,
  status: "SAVED",
  revision: 1,
  publishedRevision: null,
  published: null,
  exportedAt: new Date().toISOString(),
});

const scopeOf = (route: string, { orb }: Place) => `${route === "/api/{orbId}" ? orb : "*"}:read`;

type Rows = (at: Place, route: string) => Row[] | Promise<Row[]>;

/** The requests of one account to its realm. */
const ofAccount = (
  route: string,
  base: (at: Place) => string,
  by: (at: Place) => string,
  refused: Refusals,
) => ({
  [`POST ${route}/passkey/begin`]: (at: Place) => [{ by: by(at), body: json({ add: true }), refused }],
  [`POST ${route}/invitations`]: (at: Place) => [{ by: by(at), body: "{ }", refused }],
  [`POST ${route}/tokens`]: (at: Place) => {
    const orb = route === "/api/{orbId}" ? at.orb : "*";
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    return [
      { by: by(at), body: json({ name: "late", expiresAt, scopes: [{ orb, can: ["read"] }] }), refused },
    ];
  },
  [`POST ${route}/signin/program`]: (at: Place) => [
    {
      by: by(at),
      body: json(programRequest(scopeOf(route, at))),
      // An orb without accounts of its own has the page alone, which leads to that of the shared realm.
      refused: "gives up its own accounts" in refused ? { ...refused, "gives up its own accounts": 405 } : {},
    },
  ],
  [`POST ${route}/signin/program/token`]: async (at: Place) => {
    const path = `${base(at)}/signin/program`;
    const { body } = await as("POST", path, programRequest(scopeOf(route, at)), by(at));
    return [
      {
        body: json({ code: body.code, verifier: VERIFIER }),
        refused:
          "gives up its own accounts" in refused ? { ...refused, "gives up its own accounts": 405 } : {},
      },
    ];
  },
  [`PUT ${route}/me`]: (at: Place) => [{ by: by(at), body: json({ name: "Late" }), refused }],
  [`PUT ${route}/passkeys/{id}`]: async (at: Place) => {
    const { body } = await as("GET", `${base(at)}/passkeys`, undefined, by(at));
    const path = `${base(at)}/passkeys/${body[0].id}`;
    return [{ by: by(at), path, body: json({ name: "late" }), refused }];
  },
});

/** Whether a route is about accounts that no change of an orb affects. */
const isOfOtherRealm = (path: string) => /^\/api\/(_auth|auth)\//.test(path);

/** Returns the set that requests share. The first one opens it. */
function shared(sets: Place["sets"], isInReview: boolean, open: () => Promise<string>): Promise<string> {
  const set = sets.get(isInReview) ?? open();
  sets.set(isInReview, set);
  return set;
}

/** Views need no right to write entries, and the readers of an orb with shared accounts are those of the recreated one. */
const byReader = (at: Place): Refusals => {
  const { "lets only owners write": _, ...refused } = byMember(at);
  return at.realm === "shared" ? OFFLINE : refused;
};
const viewsIn = (orb: string, prefix = "/api") => `${prefix}/${orb}/views/news/article`;
/** Returns the body of a view whose name no other has. */
const lateView = () => json({ name: `late ${crypto.randomUUID()}` });

/** Saves a view, and returns its path. @param path of all views */
async function viewIn(path: string): Promise<string> {
  const { status, body } = await as("POST", path, { name: `first ${crypto.randomUUID()}` });
  expect(status, JSON.stringify(body)).toBe(201);
  return `${path}/${body.id}`;
}

/** Opens a change set. @param inReview whether it waits for approvals */
async function openedSet(orb: string, inReview: boolean): Promise<string> {
  const base = `/api/admin/orbs/${orb}/changes`;
  const { body } = await as("POST", base, { title: "first" });
  if (inReview) expect((await as("POST", `${base}/${body.id}/review`)).status).toBe(200);
  return body.id;
}

/** Uploads a file, and returns its id. */
async function uploaded({ orb }: Place, by: string): Promise<string> {
  const { body } = await as("POST", `/api/${orb}/files`, "early", by);
  return body.id;
}

/** Uploads a file with a tag of its own. @returns the tag */
async function tagged(at: Place, by: string): Promise<string> {
  const id = await uploaded(at, by);
  const { status } = await as("PATCH", `/api/${at.orb}/files/${id}`, { tags: [id] }, by);
  expect(status).toBe(200);
  return id;
}

/** The requests to a change set. */
const ofSet = (route: string, refused: Refusals): Record<string, Rows> =>
  Object.fromEntries(
    (
      [
        ["PATCH", "", lateSet],
        ["POST", "/approve", "{ }"],
        ["POST", "/reject", json({ comment: "late" })],
        ["POST", "/comments", json({ text: "late" })],
        ["POST", "/publish", "{ }"],
        ["POST", "/entries/{entryId}/rebase", "{ }"],
      ] as const
    ).map(([method, tail, body]) => [
      `${method} ${route}/changes/{changeId}${tail}`,
      async ({ orb, entry, change, sets }: Place, route: string) => {
        const isInReview = tail !== "";
        const open = () => openedSet(orb, isInReview);
        // A refused request leaves the set to the next one.
        const set = await (refused[change] === undefined ? open() : shared(sets, isInReview, open));
        const written = `/api/admin/orbs/${orb}/entries/${entry}?change=${set}`;
        if (tail === "/publish" || tail.startsWith("/entries"))
          expect((await as("PATCH", written, { values: {} })).status).toBe(200);
        const path = route.replace("{orbId}", orb).replace("{changeId}", set).replace("{entryId}", entry);
        return [{ by: token, path, body, refused }];
      },
    ]),
  );

/** The requests of the form of an entry. */
const ofForm = (
  route: string,
  by: (at: Place) => string,
  refused: (at: Place) => Refusals,
): Record<string, Rows> =>
  Object.fromEntries(
    [
      ["unsaved", lateUnsaved],
      ["presence", "{ }"],
    ].map(([what, body = ""]) => [
      `PUT ${route}/editing/{module}/{schema}/{entryId}/${what}`,
      (at: Place, asked: string) => {
        const path = `${asked.split("/editing/")[0]}/editing/news/article/${at.entry}/${what}`;
        const headers = { "If-Match": "*" };
        return [{ by: by(at), path: path.replace("{orbId}", at.orb), body, headers, refused: refused(at) }];
      },
    ]),
  );

/** The requests to every route that takes a body, with the expected refusals. */
const ROUTES: Record<string, Rows> = {
  ...ofAccount(
    "/api/_auth",
    () => "/api/_auth",
    () => token,
    NEVER,
  ),
  "POST /api/_auth/admins": () => [{ by: token, body: robot, refused: NEVER }],
  "PUT /api/_auth/settings": () => [
    { by: token, body: json({ shared: { signup: "invitation" } }), refused: NEVER },
  ],
  "POST /api/_auth/passkey/complete": async () => [{ ...(await registering("/api/_auth")), refused: NEVER }],

  ...ofAccount(
    "/api/auth",
    () => "/api/auth",
    () => owner.token,
    NEVER,
  ),
  "POST /api/auth/passkey/complete": async () => [{ ...(await registering("/api/auth")), refused: NEVER }],
  "POST /api/auth/users": () => [{ by: token, body: robot, refused: NEVER }],
  "PUT /api/auth/users/{id}": () => [
    { by: owner.token, path: `/api/auth/users/${spare.id}`, body: json({ role: "admin" }), refused: NEVER },
  ],

  // A mapping and a library definition name an orb at most. Reading the stream checks what they name.
  "PUT /api/admin/streams/{name}": ({ orb }) => [
    {
      by: token,
      path: `/api/admin/streams/${fresh("late")}`,
      body: json({ stream: `ø${orb}`, subjectFilter: `${orb}.*.public.>` }),
      refused: NEVER,
    },
  ],
  "PUT /api/admin/definitions/{kind}/{id}": () => [
    {
      by: token,
      path: `/api/admin/definitions/messages/${fresh("late")}`,
      body: json({ schema: { type: "object" } }),
      refused: NEVER,
    },
  ],

  "POST /api/admin/orbs": () => [{ by: token, body: json(document(fresh("late"), "own")), refused: NEVER }],
  "POST /api/admin/orbs/import": () => [
    {
      by: token,
      type: lines,
      body: `${json(orbLine(document(fresh("late"), "own")))}\n${json({ kind: "end", entries: 0 })}\n`,
      refused: NEVER,
    },
  ],
  "PUT /api/admin/orbs/{orbId}": ({ orb, realm }, route) => {
    const body = json(document(orb, realm));
    // Only the first of several requests can name the newest revision.
    return route.startsWith("/api/admin/")
      ? [{ by: token, body, headers: { "If-Match": '"1"' }, refused: AT_ANOTHER_REVISION }]
      : [{ by: token, body, refused: OF_EXISTING }];
  },
  "PATCH /api/admin/orbs/{orbId}": () => [{ by: token, body: json({ name: "Late" }), refused: OF_EXISTING }],
  "POST /api/admin/orbs/{orbId}/entries": () => [{ by: token, body: lateManaged, refused: WITHOUT_ORB }],
  "POST /api/admin/orbs/{orbId}/entries/bulk": () => [
    { by: token, type: lines, body: `${lateManaged}\n`.repeat(20), refused: IN_ANOTHER_ORB },
  ],
  "POST /api/admin/orbs/{orbId}/batch": () => [{ by: token, body: lateBatch, refused: WITHOUT_ORB }],
  "POST /api/admin/orbs/{orbId}/changes": () => [{ by: token, body: lateSet, refused: WITHOUT_ORB }],
  ...ofSet("/api/admin/orbs/{orbId}", IN_ANOTHER_ORB),
  "POST /api/admin/orbs/{orbId}/views/{module}/{schema}": ({ orb }) => [
    { by: token, path: viewsIn(orb, "/api/admin/orbs"), body: lateView(), refused: WITHOUT_ORB },
  ],
  "PUT /api/admin/orbs/{orbId}/views/{module}/{schema}/{viewId}": async ({ orb }) => [
    {
      by: token,
      path: await viewIn(viewsIn(orb, "/api/admin/orbs")),
      body: lateView(),
      refused: IN_ANOTHER_ORB,
    },
  ],
  "POST /api/admin/orbs/{orbId}/changes/{changeId}/definition/rebase": async ({ orb }, route) => {
    const set = await openedSet(orb, false);
    const proposed = await as("PATCH", `/api/admin/orbs/${orb}?change=${set}`, { description: "first" });
    expect(proposed.status).toBe(200);
    const path = route.replace("{orbId}", orb).replace("{changeId}", set);
    const refused = { ...IN_ANOTHER_ORB, "is unpublished": 409, "is archived": 409 };
    return [{ by: token, path, body: "{ }", refused }];
  },
  "PATCH /api/admin/orbs/{orbId}/entries": ({ orb }) => [
    { by: token, path: `/api/admin/orbs/${orb}/entries?all=true`, body: late, refused: WITHOUT_ORB },
  ],
  "PUT /api/admin/orbs/{orbId}/entries/{entryId}": () => [{ by: token, body: late, refused: IN_ANOTHER_ORB }],
  "PATCH /api/admin/orbs/{orbId}/entries/{entryId}": () => [
    { by: token, body: late, refused: IN_ANOTHER_ORB },
  ],

  ...ofForm(
    "/api/admin/orbs/{orbId}",
    () => token,
    () => IN_ANOTHER_ORB,
  ),
  ...ofForm("/api/{orbId}", ({ member }) => member.token, byMember),

  ...onlyOwn(
    ofAccount(
      "/api/{orbId}",
      ({ orb }) => `/api/${orb}`,
      ({ owner }) => owner.token,
      OF_ACCOUNT,
    ),
  ),
  ...onlyOwn({
    // A platform admin may also create a service account in the recreated orb.
    "POST /api/{orbId}/users": () => [
      { by: token, body: robot, refused: { ...OFFLINE, "gives up its own accounts": 404 } },
    ],
    "PUT /api/{orbId}/users/{id}": ({ orb, owner, other }) => [
      {
        by: owner.token,
        path: `/api/${orb}/users/${other.id}`,
        body: json({ role: "admin" }),
        refused: OF_ACCOUNT,
      },
    ],
    // The recreated orb has neither the challenge's invitation nor the passkey.
    "POST /api/{orbId}/passkey/complete": async ({ orb, other }) => [
      { ...(await registering(`/api/${orb}`)), refused: { ...OF_ACCOUNT, "is deleted and recreated": 404 } },
      { ...(await signingIn(`/api/${orb}`, other)), refused: OF_ACCOUNT },
    ],
    // The handler itself begins, and completes with a session id. It has both forms of its path.
    "POST /api/{orbId}/passkey": async ({ orb, owner, other }) => [
      { by: owner.token, body: json({ add: true }), refused: OF_ACCOUNT },
      {
        ...(await signingIn(`/api/${orb}`, other)),
        path: `/api/${orb}/call/passkey`,
        refused: OF_ACCOUNT,
      },
    ],
  }),
  // The tools send requests of their own, each of which is decided when it comes.
  "POST /api/mcp": () => [{ by: token, body: ping, refused: NEVER }],
  "POST /api/{orbId}/mcp": (at) => [{ by: at.owner.token, body: ping, refused: byOwner(at) }],
  "POST /api/{orbId}/call/{handler}": (at) =>
    // The settings of an account have no access of their own.
    [
      { by: at.member.token, path: `/api/${at.orb}/call/record`, body: late, refused: byMember(at) },
      { by: at.member.token, path: `/api/${at.orb}/record`, body: late, refused: byMember(at) },
      { by: at.member.token, path: `/api/${at.orb}/call/set`, body: late, refused: byOwner(at) },
      { by: at.owner.token, path: `/api/${at.orb}/set`, body: late, refused: byOwner(at) },
    ],
  "POST /api/{orbId}/{moduleId}/{schemaId}": (at) => [
    ...["", "?publish=true"].flatMap((query) => [
      { by: at.member.token, path: `/api/${at.orb}/news${query}`, body: late, refused: byMember(at) },
      { by: at.owner.token, path: `/api/${at.orb}/news/article${query}`, body: late, refused: byOwner(at) },
    ]),
    { by: token, path: `/api/${at.orb}/news`, body: late, refused: OFFLINE },
  ],
  "POST /api/{orbId}/changes": (at) => [
    { by: at.member.token, path: `/api/${at.orb}/changes`, body: lateSet, refused: byMember(at) },
    { by: token, path: `/api/${at.orb}/changes`, body: lateSet, refused: OFFLINE },
  ],
  "POST /api/{orbId}/_previews": ({ orb, entry }) => [
    {
      by: token,
      path: `/api/${orb}/_previews`,
      body: json({ module: "news", schema: "article", entry }),
      refused: { ...OFFLINE, "is deleted and recreated": 404 },
    },
  ],
  "POST /api/{orbId}/views/{module}/{schema}": (at) => [
    { by: at.member.token, path: viewsIn(at.orb), body: lateView(), refused: byReader(at) },
    { by: token, path: viewsIn(at.orb), body: lateView(), refused: OFFLINE },
  ],
  "PUT /api/{orbId}/views/{module}/{schema}/{viewId}": async (at) => {
    const path = await viewIn(`${viewsIn(at.orb)}`);
    return [{ by: token, path, body: lateView(), refused: { ...OFFLINE, "is deleted and recreated": 404 } }];
  },
  ...ofSet("/api/{orbId}", { ...OFFLINE, "is deleted and recreated": 404 }),
  "POST /api/{orbId}/batch": (at) => [
    { by: at.member.token, path: `/api/${at.orb}/batch`, body: lateBatch, refused: byMember(at) },
    { by: token, path: `/api/${at.orb}/batch`, body: lateBatch, refused: OFFLINE },
  ],
  "PUT /api/{orbId}/{moduleId}/{schemaId}/{id}": (at) => {
    const path = `/api/${at.orb}/news/${at.entry}`;
    return [
      { by: at.member.token, path, body: late, refused: byMember(at) },
      { by: at.owner.token, path: `${path}?publish=true`, body: late, refused: byOwner(at, 404) },
      { by: token, path, body: late, refused: { ...OFFLINE, "is deleted and recreated": 404 } },
    ];
  },
  "POST /api/{orbId}/files": (at) => [
    {
      by: at.member.token,
      path: `/api/${at.orb}/files`,
      type: "text/plain",
      body: "late",
      refused: byMember(at),
    },
  ],
  "POST /api/{orbId}/files/uploads": (at) => [
    {
      by: at.member.token,
      path: `/api/${at.orb}/files/uploads`,
      type: PART,
      body: "late",
      headers: { "tus-resumable": "1.0.0", "upload-length": "4" },
      // The upload begins before its first part arrives.
      refused: { ...byMember(at), "is deleted and recreated": 404 },
    },
  ],
  // The recreated orb does not have the upload.
  "PATCH /api/{orbId}/files/uploads/{uploadId}": async (at) => {
    const headers = { "tus-resumable": "1.0.0", "upload-length": "4" };
    const begun = await fetch(`${platform.origin}/api/${at.orb}/files/uploads`, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${at.member.token}` },
    });
    const path = begun.headers.get("location") ?? "";
    const part = { "tus-resumable": "1.0.0", "upload-offset": "0" };
    return [{ by: at.member.token, path, type: PART, body: "late", headers: part, refused: byMember(at) }];
  },
  // A caller may share what it has uploaded. The recreated orb does not have the file.
  "POST /api/{orbId}/files/{fileId}/links": async (at) => {
    const path = `/api/${at.orb}/files/${await uploaded(at, at.member.token)}/links`;
    return [{ by: at.member.token, path, body: json({ seconds: 9 }), refused: byOwner(at, 404) }];
  },
  // The recreated orb does not have the file.
  "PATCH /api/{orbId}/files/{fileId}": async (at) => {
    const path = `/api/${at.orb}/files/${await uploaded(at, at.owner.token)}`;
    return [{ by: at.owner.token, path, body: json({ tags: ["late"] }), refused: byOwner(at, 404) }];
  },
  "PATCH /api/{orbId}/files": async (at) => {
    const body = json({ files: [await uploaded(at, at.owner.token)], add: ["late"] });
    return [{ by: at.owner.token, path: `/api/${at.orb}/files`, body, refused: byOwner(at, 404) }];
  },
  // The recreated orb does not have the tag.
  "PATCH /api/{orbId}/files/tags": async (at) => {
    const body = json({ from: await tagged(at, at.owner.token), to: "late" });
    return [{ by: at.owner.token, path: `/api/${at.orb}/files/tags`, body, refused: byOwner(at, 404) }];
  },
  "POST /api/{orbId}/files/{fileId}/replace": async (at) => {
    const path = `/api/${at.orb}/files/${await uploaded(at, at.owner.token)}/replace`;
    const body = json({ by: await uploaded(at, at.owner.token) });
    return [{ by: at.owner.token, path, body, refused: byOwner(at, 404) }];
  },
  "PATCH /api/admin/orbs/{orbId}/files/{fileId}": async (at) => {
    const path = `/api/admin/orbs/${at.orb}/files/${await uploaded(at, token)}`;
    return [{ by: token, path, body: json({ tags: ["late"] }), refused: IN_ANOTHER_ORB }];
  },
  "PATCH /api/admin/orbs/{orbId}/files": async (at) => {
    const body = json({ files: [await uploaded(at, token)], add: ["late"] });
    return [{ by: token, path: `/api/admin/orbs/${at.orb}/files`, body, refused: IN_ANOTHER_ORB }];
  },
  "PATCH /api/admin/orbs/{orbId}/files/tags": async (at) => {
    const body = json({ from: await tagged(at, token), to: "late" });
    return [{ by: token, path: `/api/admin/orbs/${at.orb}/files/tags`, body, refused: IN_ANOTHER_ORB }];
  },
  "POST /api/admin/orbs/{orbId}/files/{fileId}/replace": async (at) => {
    const path = `/api/admin/orbs/${at.orb}/files/${await uploaded(at, token)}/replace`;
    const body = json({ by: await uploaded(at, token) });
    return [{ by: token, path, body, refused: IN_ANOTHER_ORB }];
  },
  "PATCH /api/{orbId}/{moduleId}/{schemaId}": (at) => [
    {
      by: at.member.token,
      path: `/api/${at.orb}/news?all=true`,
      body: late,
      refused: { ...byMember(at), "is deleted and recreated": at.realm === "own" ? 401 : 403 },
    },
  ],
  "PATCH /api/{orbId}/{moduleId}/{schemaId}/{id}": (at) => [
    { by: at.member.token, path: `/api/${at.orb}/news/${at.entry}`, body: late, refused: byMember(at) },
  ],
  "PUT /api/{orbId}/{moduleId}/{schemaId}/by/{field}/{value}": (at) => [
    { by: at.member.token, path: `/api/${at.orb}/news/by/code/late`, body: late, refused: byMember(at) },
  ],
  "PATCH /api/{orbId}/{moduleId}/{schemaId}/by/{field}/{value}": (at) => [
    { by: at.member.token, path: `/api/${at.orb}/news/by/code/late`, body: late, refused: byMember(at) },
  ],
};

/** Restricts requests to orbs with accounts of their own. */
function onlyOwn(routes: Record<string, Rows>): Record<string, Rows> {
  return Object.fromEntries(
    Object.entries(routes).map(([route, rows]) => [
      route,
      (at: Place, route: string) => (at.realm === "own" ? rows(at, route) : []),
    ]),
  );
}

/** The prefixes of the management API serve the same routes. */
const described = (path: string) => path.replace("/api/_orbs", "/api/admin/orbs");

test("has an expected result for every route that takes a body", () => {
  const routes = bodyRoutes().map(({ method, path }) => `${method} ${described(path)}`);
  expect(Object.keys(ROUTES).sort()).toEqual([...new Set(routes)].sort());
});

/** Revokes the tokens that earlier requests created for the accounts that all places share. */
async function revokeTokens(): Promise<void> {
  for (const [base, by] of [
    ["/api/_auth", token],
    ["/api/auth", owner.token],
  ] as const) {
    const { body } = await as("GET", `${base}/tokens`, undefined, by);
    for (const { id } of body) await as("DELETE", `${base}/tokens/${id}`, undefined, by);
  }
}

async function newPlace(realm: Realm, change: ChangeName): Promise<Place> {
  await revokeTokens();
  const orb = fresh("moved");
  expect((await as("POST", "/api/admin/orbs?publish=true", document(orb, realm))).status).toBe(201);
  const people =
    realm === "own"
      ? {
          owner: await user(platform, orb, "owner"),
          member: await user(platform, orb),
          other: await user(platform, orb),
        }
      : { owner, member, other: spare };
  const made = await as(
    "POST",
    `/api/${orb}/news?publish=true`,
    { values: { title: "first", code: "first" } },
    people.member.token,
  );
  expect(made.status).toBe(201);
  return { orb, realm, change, ...people, entry: made.body.id, sets: new Map() };
}

interface Begun {
  route: string;
  refusal: number | undefined;
  request: SlowRequest;
}

/**
 * Starts the requests to every route, all at once: the functions end a request whose body stalls for five seconds, and
 * some requests need others before them.
 */
async function beginAll(at: Place, transfer: Transfer): Promise<Begun[]> {
  const ready: { route: string; refusal: number | undefined; request: SplitRequest }[] = [];
  for (const { method, path } of bodyRoutes()) {
    if (at.change !== "stays as it is" && isOfOtherRealm(path)) continue;
    const rows = (await ROUTES[`${method} ${described(path)}`]?.(at, path)) ?? [];
    for (const { refused, ...row } of rows) {
      const own = (row.path ?? path).replace("{orbId}", at.orb).replace("{entryId}", at.entry);
      const request = { ...row, method, path: own };
      ready.push({ route: `${method} ${row.path ?? path}`, refusal: refused[at.change], request });
    }
  }
  return ready.map((one) => ({ ...one, request: beginSplit(platform.origin, one.request, transfer) }));
}

/** The status of a response. That of an upload is in its last line. */
function statusOf({ status, body }: SplitAnswer): number {
  if (status !== 200 || !body.includes('"done":')) return status;
  const last = body.match(/\{"done":.*\}/)?.[0] ?? "{}";
  return (JSON.parse(last) as { status?: number }).status ?? status;
}

describe.each(["own", "shared"] as const)("a body for an orb with %s accounts", (realm) => {
  const names = Object.keys(CHANGES) as ChangeName[];
  test.each(names.filter((change) => realm === "own" || change !== "gives up its own accounts"))(
    "is treated as the orb is when it has arrived: the orb %s",
    async (change) => {
      // Both kinds of bodies take the same way once they have arrived, so one change is enough for the second.
      const transfer = change === "stays as it is" && realm === "own" ? "chunked" : "Content-Length";
      const at = await newPlace(realm, change);
      const begun = await beginAll(at, transfer);
      await whenReached(platform.origin, token);
      const done = await CHANGES[change](at);
      if (done !== undefined) expect(done.status).toBeLessThan(300);
      const before = await writtenState(store, at.orb);
      const late = begun.filter(({ refusal }) => refusal !== undefined);
      await Promise.all(
        late.map(async ({ route, refusal, request }) => {
          const response = await request.finish();
          expect([route, statusOf(response)], response.body).toEqual([route, refusal]);
        }),
      );
      expect(await writtenState(store, at.orb)).toEqual(before);
      // The others prove that the requests are sound.
      for (const { route, refusal, request } of begun) {
        if (refusal !== undefined) continue;
        const response = await request.finish();
        const accepted = statusOf(response) >= 200 && statusOf(response) < 300;
        expect([route, accepted], response.body).toEqual([route, true]);
      }
    },
  );
});
