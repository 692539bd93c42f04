/**
 * Fields that some callers may not read or set. Nothing that a caller can ask may depend on a value that it may not
 * read, so the tests compare answers that differ only in such values, or in the name of such a field.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, type SignedIn, signIn, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

type Answer = Awaited<ReturnType<typeof call>>;
type By = SignedIn | string | undefined;
const as = (by: By, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
  const sent = typeof by === "string" ? by : by?.token;
  return call(platform, method, path, {
    headers,
    ...(sent === undefined ? {} : { token: sent }),
    ...(body === undefined ? {} : { body }),
  });
};

type Bag = Record<string, unknown>;
const FIELDS: Bag[] = [
  { name: "title", type: "string" },
  { name: "cost", type: "number", access: { read: ["buyer"], write: ["buyer"] } },
  { name: "supplier", type: "reference", ref: "ORB/parties/vendor", access: { read: ["buyer"] } },
  { name: "sku", type: "string", unique: true, access: { read: ["buyer"], write: ["buyer"] } },
  { name: "kind", type: "string", enum: ["a", "b"], access: { read: ["admin"], write: ["admin"] } },
  { name: "secret", type: "string", sensitive: true, access: { read: ["buyer"], write: ["buyer"] } },
  { name: "words", type: "text", translatable: true, access: { read: ["buyer"], write: ["buyer"] } },
  { name: "note", type: "string", access: { read: ["own"], write: ["own"] } },
  { name: "state", type: "string", access: { write: ["admin"] } },
  { name: "tip", type: "string", access: { read: ["admin"], write: ["user"] } },
];
const ACCESS = {
  read: ["public"],
  create: ["user"],
  update: ["own", "buyer"],
  publish: ["own", "buyer"],
  delete: ["own", "buyer"],
};

interface Shape {
  fields?: Bag[];
  access?: object;
  components?: Bag[];
}

const document = (id: string, { fields = FIELDS, access = ACCESS, components }: Shape = {}) => ({
  id,
  ...(components === undefined ? {} : { components }),
  roles: [{ id: "buyer", name: "Buyers" }],
  languages: ["en", "de"],
  uses: [
    { service: "access", handlers: ["passkey", "invitations"] },
    { service: "transactions", handlers: ["record", "list"] },
    { service: "settings", handlers: ["get", "set"] },
  ],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          access,
          fields: JSON.parse(JSON.stringify(fields).replaceAll("ORB/", `${id}/`)),
        },
      ],
    },
    {
      id: "parties",
      type: "CONTENT",
      schemas: [{ id: "vendor", fields: [{ name: "title", type: "string" }] }],
    },
    {
      id: "ledger",
      type: "TRANSACTIONS",
      schemas: [
        {
          id: "payment",
          fields: [
            { name: "amount", type: "number" },
            { name: "checked", type: "string", access: { read: ["admin"], write: ["buyer"] } },
          ],
        },
      ],
    },
    {
      id: "choices",
      type: "SETTINGS",
      schemas: [
        {
          id: "choice",
          fields: [
            { name: "theme", type: "string" },
            { name: "plan", type: "string", default: "free", access: { write: ["admin"] } },
            { name: "score", type: "number", access: { read: ["admin"], write: ["admin"] } },
          ],
        },
      ],
    },
  ],
});

interface Place {
  orb: string;
  path: string;
  vendor: string;
  people: Record<"user" | "other" | "buyer" | "admin" | "owner", SignedIn>;
}

let number = 0;
async function newPlace(shape: Shape = {}): Promise<Place> {
  const orb = `hides${++number}`;
  expect((await as(token, "POST", "/api/admin/orbs?publish=true", document(orb, shape))).status).toBe(201);
  const people = {
    user: await user(platform, orb),
    other: await user(platform, orb),
    buyer: await user(platform, orb, "buyer"),
    admin: await user(platform, orb, "admin"),
    owner: await user(platform, orb, "owner"),
  };
  const vendor = await as(token, "POST", `/api/${orb}/parties?publish=true`, { values: { title: "Acme" } });
  return { orb, path: `/api/${orb}/catalog`, vendor: vendor.body.id, people };
}

const republish = async (orb: string, shape: Shape) =>
  expect((await as(token, "PUT", `/api/admin/orbs/${orb}?publish=true`, document(orb, shape))).status).toBe(
    200,
  );

const SECRETS = {
  cost: 12.5,
  sku: "C-1",
  kind: "a",
  secret: "s3cret",
  words: { en: "hidden", de: "verdeckt" },
};

/** A published entry of the user, with values in every field. */
async function newProduct(
  { path, vendor, people }: Place,
  values: Bag = SECRETS,
  title = "one",
): Promise<string> {
  const made = await as(people.user, "POST", `${path}?publish=true`, { values: { title, note: "mine" } });
  expect(made.status).toBe(201);
  const all = { title, note: "mine", supplier: vendor, tip: "thanks", state: "new", ...values };
  const id = made.body.id as string;
  expect((await as(token, "PUT", `${path}/${id}?publish=true`, { values: all })).status).toBe(200);
  return id;
}

const names = (answer: Answer) => Object.keys(answer.body.values).sort();
const HIDDEN = ["cost", "supplier", "sku", "kind", "secret", "words", "tip"];

test("each caller gets the fields that it may read, in every kind of answer", async () => {
  const place = await newPlace();
  const { path, people } = place;
  const id = await newProduct(place);
  const open = ["state", "title"];
  const bought = [...open, "sku", "cost", "secret", "supplier", "words"].sort();
  const all = FIELDS.map(({ name }) => name as string).sort();
  const expected: [By, string[]][] = [
    [undefined, open],
    [people.other, open],
    [people.user, [...open, "note"].sort()],
    [people.buyer, bought],
    [people.admin, all],
    [people.owner, all],
    [token, all],
  ];
  for (const [by, fields] of expected) {
    expect(names(await as(by, "GET", `${path}/${id}`))).toEqual(fields);
    expect(names(await as(by, "GET", `${path}/${id}?locale=*`))).toEqual(fields);
    for (const query of ["", "?count=true", "?sort=-title", "?sort=-createdAt", "?filter[title]=one"]) {
      const { body } = await as(by, "GET", `${path}${query}`);
      expect(body.items.map((item: { values: Bag }) => Object.keys(item.values).sort())).toEqual([fields]);
    }
  }
  for (const [by, fields] of expected.slice(2)) {
    expect(names(await as(by, "GET", `${path}/${id}?revision=latest`))).toEqual(fields);
    const listed = await as(by, "GET", `${path}?revision=latest`);
    expect(names({ ...listed, body: listed.body.items[0] })).toEqual(fields);
    expect(names(await as(by, "POST", `${path}/${id}/archive`))).toEqual(fields);
    expect(names(await as(by, "POST", `${path}/${id}/restore`))).toEqual(fields);
    expect(names(await as(by, "POST", `${path}/${id}/publish`))).toEqual(fields);
    expect(names(await as(by, "PUT", `${path}/${id}?publish=true`, { validTo: null }))).toEqual(fields);
  }
});

test("the history shows each caller the entries and the fields that it may read", async () => {
  const place = await newPlace();
  const { orb, path, people } = place;
  const before = new Date().toISOString();
  const id = await newProduct(place);
  const history = `${path}/${id}/revisions`;
  const open = ["note", "state", "title"];
  const bought = ["cost", "secret", "sku", "state", "supplier", "title", "words"];
  const all = FIELDS.map(({ name }) => name as string).sort();
  const readers: [By, string[]][] = [
    [people.user, open],
    [people.buyer, bought],
    [people.admin, all],
    [token, all],
  ];
  for (const [by, fields] of readers) {
    const listed = await as(by, "GET", `${history}?sort=-revision&count=true&limit=1`);
    expect(listed).toMatchObject({ status: 200, body: { items: [{ revision: 2 }], total: 2 } });
    const rest = await as(by, "GET", `${history}?sort=-revision&cursor=${listed.body.nextCursor}`);
    expect(rest.body).toMatchObject({ items: [{ revision: 1, by: people.user.id }], nextCursor: null });
    const second = await as(by, "GET", `${history}/2`);
    expect(names(second)).toEqual(fields);
    if (fields.includes("secret")) expect(second.body.values.secret).toMatch(/^•+$/);
    const { patch } = (await as(by, "GET", `${history}/2?against=1`)).body;
    for (const step of patch.filter((each: { path: string }) => each.path.startsWith("/values/")))
      expect(fields).toContain(step.path.split("/")[2]);
    const past = await as(by, "GET", `${path}/${id}?locale=*&at=${new Date().toISOString()}`);
    expect([past.body.revision, names(past)]).toEqual([2, fields]);
    expect(past.headers.get("cache-control")).toBe("private, no-cache");
    expect((await as(by, "GET", `${path}/${id}?at=${before}`)).status).toBe(404);
  }
  const refused = async (by: By, requests: [method: string, path: string][]) =>
    Promise.all(requests.map(async ([method, at]) => (await as(by, method, at)).status));
  const requests: [string, string][] = [
    ["GET", history],
    ["GET", `${history}/1`],
    ["GET", `${history}/2?against=1`],
    ["POST", `${history}/1/restore`],
  ];
  expect(await refused(people.other, requests)).toEqual([403, 403, 403, 403]);
  expect(await refused(undefined, requests)).toEqual([401, 401, 401, 401]);
  // The user may set some of the fields only. The others keep their newest values.
  const reverted = await as(people.user, "POST", `${history}/1/restore?locale=*`, undefined, {
    "if-match": '"2"',
  });
  expect([reverted.status, reverted.body.revision, names(reverted)]).toEqual([200, 3, open]);
  expect((await as(token, "GET", `${history}/3`)).body.values).toMatchObject({ cost: 12.5, sku: "C-1" });
  expect(
    (await as(people.user, "POST", `${history}/1/restore`, undefined, { "if-match": '"2"' })).status,
  ).toBe(412);
  const draft = await as(people.user, "POST", path, { values: { title: "hidden" } });
  const hidden = requests.map(([method, at]): [string, string] => [method, at.replace(id, draft.body.id)]);
  expect(await refused(people.other, hidden)).toEqual([404, 404, 404, 404]);
  const nothing = ["0", "4", "x"].map((number): [string, string] => ["GET", `${history}/${number}`]);
  expect(await refused(people.user, nothing)).toEqual([404, 404, 404]);
  expect(
    await refused(people.owner, [
      ["GET", `${history}?limit=0`],
      ["GET", `${history}?other=1`],
      ["GET", `${path}/${id}?at=yesterday`],
      ["GET", `/api/${orb}/parties/${id}/revisions`],
      ["PUT", history],
      ["POST", `${history}/1`],
      ["GET", `${history}/1/restore`],
      ["GET", `${history}/1/other`],
    ]),
  ).toEqual([400, 400, 400, 404, 405, 405, 405, 404]);
  const revealed = await as(people.owner, "GET", `${path}/${id}?at=2100-01-01T00:00:00Z&reveal=true`);
  expect(revealed.body).toMatchObject({ revision: 3, values: { secret: "s3cret" } });
  expect((await as(people.user, "DELETE", `${path}/${id}`)).status).toBe(204);
  expect(await refused(people.user, requests)).toEqual([404, 404, 404, 404]);
  expect((await as(token, "GET", history)).body.items).toHaveLength(4);
});

test("a hidden field looks like a field that does not exist", async () => {
  const place = await newPlace();
  const { path, people } = place;
  const id = await newProduct(place);
  /** An answer with the name of the field replaced, and without what differs between any two requests. */
  const told = ({ status, body, headers }: Answer, name: string) => {
    const { requestId: _, instance: __, ...rest } = (body ?? {}) as Bag;
    const type = headers.get("content-type");
    const own = new RegExp(`(["/\\[]|\\\\")${name}(["\\]]|\\\\")`, "g");
    return [status, type, JSON.stringify(rest).replaceAll(own, "$1NAME$2")];
  };
  const requests: ((by: By, name: string) => Promise<Answer>)[] = [
    ...["", "[ne]", "[in]", "[gt]", "[contains]", "[null]", "[nonsense]"].map(
      (operator) => (by: By, name: string) => as(by, "GET", `${path}?filter[${name}]${operator}=a`),
    ),
    (by, name) => as(by, "GET", `${path}?sort=${name}`),
    (by, name) => as(by, "GET", `${path}?sort=-title,${name}&count=true`),
    (by, name) => as(by, "GET", `${path}?fields=title,${name}`),
    (by, name) => as(by, "GET", `${path}?expand=${name}`),
    (by, name) => as(by, "GET", `${path}/${id}?fields=${name}`),
    (by, name) => as(by, "GET", `${path}/${id}?expand=${name}`),
  ];
  const writes: ((by: By, name: string) => Promise<Answer>)[] = [
    (by, name) => as(by, "POST", path, { values: { [name]: "x" } }),
    (by, name) => as(by, "PUT", `${path}/${id}`, { values: { [name]: null } }),
    (by, name) => as(by, "PUT", `${path}/${id}?locale=de`, { values: { [name]: "x" } }),
  ];
  for (const by of [undefined, people.other, people.user])
    for (const request of requests)
      for (const name of HIDDEN)
        expect(told(await request(by, name), name)).toEqual(told(await request(by, "nothing"), "nothing"));
  for (const request of writes)
    for (const name of HIDDEN.filter((one) => one !== "tip" && one !== "supplier"))
      expect(told(await request(people.user, name), name)).toEqual(
        told(await request(people.user, "nothing"), "nothing"),
      );
  // Its creator alone reads a note. As lists hold entries of others too, not even the creator may compare by it.
  expect((await as(people.user, "GET", `${path}?filter[note]=mine`)).status).toBe(400);
  expect((await as(people.user, "GET", `${path}?fields=note`)).body.items[0].values).toEqual({
    note: "mine",
  });
  expect((await as(people.other, "GET", `${path}?fields=note`)).body.items[0].values).toEqual({});
});

test("answers to callers who may not read a value do not depend on it", async () => {
  const place = await newPlace();
  const { path, people } = place;
  const twins = [
    await newProduct(place, SECRETS, "twin"),
    await newProduct(place, { cost: 99, sku: "C-22222222", kind: "b", secret: "longer secret" }, "twin"),
  ];
  const bland = (answer: Answer, id: string) => {
    const { createdAt: _, updatedAt: __, publishedAt: ___, ...rest } = answer.body as Bag;
    const etag = answer.headers.get("etag");
    return JSON.stringify([answer.status, rest, etag, answer.headers.get("content-language")]).replaceAll(
      id,
      "ID",
    );
  };
  for (const by of [undefined, people.other])
    for (const query of ["", "?locale=*", "?fields=title", "?locale=de"]) {
      const [one, two] = await Promise.all(twins.map((id) => as(by, "GET", `${path}/${id}${query}`)));
      expect(bland(one as Answer, twins[0] ?? "")).toBe(bland(two as Answer, twins[1] ?? ""));
    }
  for (const query of ["?filter[title]=twin&count=true", "?sort=title&limit=1&count=true", "?sort=state"]) {
    const { body } = await as(people.other, "GET", `${path}${query}`);
    const values = body.items.map((item: { values: Bag }) => item.values);
    expect(values).toEqual(values.map(() => ({ title: "twin", state: "new" })));
    if (body.total !== undefined) expect(body.total).toBe(2);
  }
  // A change of a hidden value alone shows as a new revision, and as nothing else.
  const [id = ""] = twins;
  const before = await as(people.other, "GET", `${path}/${id}`);
  const change = { ...(await as(token, "GET", `${path}/${id}?locale=*`)).body.values, cost: 1 };
  expect((await as(token, "PUT", `${path}/${id}?publish=true`, { values: change })).status).toBe(200);
  const after = await as(people.other, "GET", `${path}/${id}`);
  expect(after.body.values).toEqual(before.body.values);
  expect(after.body.revision).toBe(before.body.revision + 1);
});

test("an ETag of one view is never valid for another", async () => {
  const place = await newPlace();
  const id = await newProduct(place);
  const callers = [undefined, place.people.user, place.people.buyer, place.people.admin];
  const tags = new Set<string>();
  for (const by of callers) {
    const answer = await as(by, "GET", `${place.path}/${id}`);
    expect(answer.headers.get("vary")).toContain("Authorization");
    tags.add(answer.headers.get("etag") ?? "");
  }
  expect(tags.size).toBe(callers.length);
  const own = await as(undefined, "GET", `${place.path}/${id}`);
  const same = { "if-none-match": own.headers.get("etag") ?? "" };
  expect((await as(undefined, "GET", `${place.path}/${id}`, undefined, same)).status).toBe(304);
  expect((await as(place.people.buyer, "GET", `${place.path}/${id}`, undefined, same)).status).toBe(200);
});

describe("writing", () => {
  test("keeps what the caller may not see or set, whatever it sends", async () => {
    const place = await newPlace();
    const { path, people } = place;
    const id = await newProduct(place);
    const stored = async () => (await as(token, "GET", `${path}/${id}?revision=latest&locale=*`)).body.values;
    const before = await stored();
    const put = (by: By, values: Bag, query = "") => as(by, "PUT", `${path}/${id}${query}`, { values });
    expect((await put(people.user, { title: "two", note: "n" })).status).toBe(200);
    expect(await stored()).toEqual({ ...before, title: "two", note: "n" });
    expect((await put(people.user, { title: "zwei" }, "?locale=de")).status).toBe(200);
    expect(await stored()).toMatchObject({ ...SECRETS, secret: before.secret, title: "zwei" });
    // A buyer is not the creator, and does not see the note.
    expect((await put(people.buyer, { title: "three", cost: 13, sku: "C-2" })).status).toBe(200);
    const { secret: _, words: __, supplier: ___, ...rest } = before;
    expect(await stored()).toEqual({
      ...rest,
      title: "three",
      cost: 13,
      sku: "C-2",
      note: expect.anything(),
    });
  });

  test("keeps what the caller may not see or set, if it patches the entry", async () => {
    const place = await newPlace();
    const { path, people } = place;
    const id = await newProduct(place);
    const stored = async () => (await as(token, "GET", `${path}/${id}?revision=latest&locale=*`)).body.values;
    const before = await stored();
    const patch = (values: Bag) => as(people.user, "PATCH", `${path}/${id}`, { values });
    expect((await patch({ title: "two" })).status).toBe(200);
    expect(await stored()).toEqual({ ...before, title: "two" });
    // The caller may set the field but not read it. So a write replaces the hidden value and does not merge with it.
    expect((await patch({ tip: "more" })).status).toBe(200);
    expect(await stored()).toEqual({ ...before, title: "two", tip: "more" });
    for (const [name, code] of [
      ["state", "read_only"],
      ["secret", "unknown_property"],
      ["nope", "unknown_property"],
    ] as const) {
      const errors = [expect.objectContaining({ path: `/values/${name}`, code })];
      expect(await patch({ [name]: "x" })).toMatchObject({ status: 422, body: { errors } });
    }
  });

  test("accepts a field that the caller may not set only as it was read", async () => {
    const place = await newPlace();
    const { path, people } = place;
    const id = await newProduct(place);
    const read = (await as(people.user, "GET", `${path}/${id}`)).body;
    const sentBack = await as(people.user, "PUT", `${path}/${id}`, read);
    expect(sentBack).toMatchObject({ status: 200, body: { values: { state: "new" } } });
    for (const state of ["old", null, 1]) {
      const refused = await as(people.user, "PUT", `${path}/${id}`, { values: { ...read.values, state } });
      const errors = [expect.objectContaining({ path: "/values/state", code: "read_only" })];
      expect(refused).toMatchObject({ status: 422, body: { errors } });
    }
    const created = await as(people.user, "POST", path, { values: { state: "old" } });
    expect(created).toMatchObject({ status: 422, body: { errors: [{ code: "read_only" }] } });
  });

  test("lets a caller replace what it may set and not read, and shows nothing of it", async () => {
    const place = await newPlace();
    const { orb, path, people } = place;
    const id = await newProduct(place);
    const stored = async () => (await as(token, "GET", `${path}/${id}?revision=latest&locale=*`)).body.values;
    const put = (values: Bag, query = "") => as(people.user, "PUT", `${path}/${id}${query}`, { values });
    const sent = await put({ title: "one", tip: "more" });
    expect(sent).toMatchObject({ status: 200, body: { values: { title: "one" } } });
    expect(sent.body.values).not.toHaveProperty("tip");
    expect((await stored()).tip).toBe("more");
    expect((await put({ title: "one" })).status).toBe(200);
    expect((await stored()).tip).toBe("more");
    expect((await put({ title: "one", tip: null })).status).toBe(200);
    expect(await stored()).not.toHaveProperty("tip");
    // A part or a mask would tell whether a value is stored.
    const fields = FIELDS.map((field) =>
      field.name === "secret" || field.name === "words"
        ? { ...field, access: { read: ["admin"], write: ["user"] } }
        : field,
    );
    await republish(orb, { fields });
    const mask = (await as(token, "GET", `${path}/${id}`)).body.values.secret;
    for (const [values, query] of [
      [{ secret: mask }, ""],
      [{ words: "neu" }, "?locale=de"],
    ] as const)
      expect(await put(values, query)).toMatchObject({
        status: 422,
        body: { errors: [{ code: "write_only" }] },
      });
    expect((await put({ words: { de: "neu", en: "new" } })).status).toBe(200);
    expect((await stored()).words).toEqual({ de: "neu", en: "new" });
  });

  test("does not confirm a guess of a value that the caller may not see", async () => {
    const place = await newPlace();
    const { orb, path, people } = place;
    const id = await newProduct(place);
    const patch = async (values: Bag, query = "&dryRun=true") =>
      (await as(people.user, "PATCH", `${path}?filter[id]=${id}${query}`, { values })).body;
    expect(await patch({ title: "one" })).toMatchObject({ changed: 0, unchanged: 1 });
    expect(await patch({ tip: "thanks" })).toEqual(await patch({ tip: "no" }));
    // The user reads only a mask of the secret.
    const fields = FIELDS.map((field) =>
      field.name === "secret" ? { name: "secret", type: "string", sensitive: true } : field,
    );
    await republish(orb, { fields });
    expect(await patch({ secret: "s3cret" })).toEqual(await patch({ secret: "wrong" }));
    expect(await patch({ secret: "s3cret" }, "")).toMatchObject({ changed: 1, failed: [] });
    const compared = async (secret: string) => {
      const { revision } = (await as(people.user, "PATCH", `${path}/${id}`, { values: { secret } })).body;
      return (await as(people.user, "GET", `${path}/${id}/revisions/${revision}?against=${revision - 1}`))
        .body;
    };
    const right = await compared("s3cret");
    expect(right.patch).toHaveLength(1);
    expect((await compared("wrong")).patch).toEqual(right.patch);
  });

  test("names no hidden field in its errors", async () => {
    const place = await newPlace();
    const { orb, path, people, vendor } = place;
    const id = await newProduct(place);
    expect((await as(people.user, "PUT", `${path}/${id}`, { values: { title: "draft" } })).status).toBe(200);
    const fields = FIELDS.map((field) => (field.name === "cost" ? { ...field, max: 5 } : field));
    await republish(orb, { fields });
    for (const refused of [
      await as(people.user, "PUT", `${path}/${id}`, { values: { title: "two" } }),
      await as(people.user, "POST", `${path}/${id}/publish`),
    ]) {
      expect(refused).toMatchObject({
        status: 422,
        body: { errors: [{ path: "/values", code: "hidden_field" }] },
      });
      expect(JSON.stringify(refused.body)).not.toMatch(/cost|12\.5|\b5\b/);
    }
    const told = await as(people.buyer, "PUT", `${path}/${id}`, { values: { cost: 12.5 } });
    expect(told.body.errors[0].path).toBe("/values/cost");
    await republish(orb, {});
    // The vendor is no longer live. Publishing is refused, and the answer does not say what it refers to.
    expect((await as(token, "POST", `/api/${orb}/parties/${vendor}/unpublish`)).status).toBe(200);
    const dangling = await as(people.user, "POST", `${path}/${id}/publish`);
    expect(dangling).toMatchObject({
      status: 422,
      body: { errors: [{ path: "/values", code: "hidden_field" }] },
    });
    expect(JSON.stringify(dangling.body)).not.toMatch(new RegExp(`supplier|${vendor}`));
    const referred = await as(token, "DELETE", `/api/${orb}/parties/${vendor}`);
    expect(referred.body.referrers).toEqual([
      { module: "catalog", schema: "product", id, field: "supplier" },
    ]);
  });

  test("does not tell how large a hidden value is", async () => {
    const place = await newPlace();
    const { path, people } = place;
    const [small, large] = [
      await newProduct(place),
      await newProduct(place, { ...SECRETS, sku: "C-2", words: { en: "w".repeat(60_000) } }),
    ];
    const outcomes = async (id: string, size: number) =>
      (await as(people.user, "PUT", `${path}/${id}`, { values: { title: "t".repeat(size) } })).status;
    for (const size of [10_000, 90_000, 100_000, 104_000, 110_000, 200_000])
      expect(await outcomes(large, size)).toBe(await outcomes(small, size));
  });

  test("an idempotent replay shows what the caller may read now", async () => {
    const place = await newPlace();
    const { orb, path, people } = place;
    const key = { "idempotency-key": "k-1" };
    const values = { title: "one", cost: 3 };
    const first = await as(people.buyer, "POST", path, { values }, key);
    expect(first).toMatchObject({ status: 201, body: { values } });
    const { id, authenticator } = people.buyer;
    expect((await as(token, "PUT", `/api/${orb}/users/${id}`, { role: "user" })).status).toBe(200);
    const again = await as(
      await signIn(platform, `/api/${orb}`, authenticator),
      "POST",
      path,
      { values },
      key,
    );
    expect(again).toMatchObject({ status: 201, body: { id: first.body.id, values: { title: "one" } } });
    expect(again.body.values).not.toHaveProperty("cost");
  });
});

test("members of objects are hidden and kept like fields", async () => {
  const access = { read: ["buyer"], write: ["buyer"] };
  const place = await newPlace({
    components: [
      {
        id: "offer",
        fields: [
          { name: "text", type: "string" },
          { name: "cost", type: "integer", access },
        ],
      },
    ],
    fields: [
      { name: "title", type: "string", search: true },
      {
        name: "parts",
        type: "object",
        list: true,
        fields: [
          { name: "name", type: "string" },
          { name: "cost", type: "integer", access },
          { name: "label", type: "string", search: true, access },
          { name: "maker", type: "reference", ref: "ORB/parties/vendor", access },
        ],
      },
      {
        name: "seo",
        type: "object",
        fields: [
          { name: "code", type: "string", unique: true, access },
          { name: "rank", type: "integer", access: { write: access.write } },
          { name: "word", type: "string" },
        ],
      },
      { name: "body", type: "richText", components: ["offer"] },
    ],
  });
  const { path, people, vendor } = place;
  const part = { _key: "a", name: "Lamp", cost: 7, label: "rare", maker: vendor };
  const offer = { _type: "offer", _key: "o", text: "Now", cost: 3 };
  const made = await as(people.user, "POST", path, { values: { title: "one" } });
  const at = `${path}/${made.body.id}`;
  const values = { title: "one", parts: [part], seo: { code: "C1", rank: 1 }, body: [offer] };
  expect(await as(people.buyer, "PUT", `${at}?publish=true`, { values })).toMatchObject({
    status: 200,
    body: { values },
  });
  const seen = {
    title: "one",
    parts: [{ _key: "a", name: "Lamp" }],
    seo: { rank: 1 },
    body: [{ _type: "offer", _key: "o", text: "Now" }],
  };
  const other = await as(people.buyer, "GET", at);
  for (const by of [undefined, people.user]) {
    const read = await as(by, "GET", at);
    expect(read.body.values).toEqual(seen);
    expect(read.headers.get("etag")).not.toBe(other.headers.get("etag"));
    expect((await as(by, "GET", `${at}?locale=*`)).body.values).toEqual(seen);
    expect(JSON.stringify((await as(by, "GET", `${at}?richText=html`)).body)).not.toMatch(/cost|C1|rare/);
    for (const query of [
      "filter[parts.cost]=7",
      "filter[seo.code]=C1",
      "sort=seo.code",
      "expand=parts.maker",
      "filter[parts.maker.title]=Acme",
      "aggregate[n]=sum(parts.cost)",
    ])
      expect([query, (await as(by, "GET", `${path}?${query}`)).status]).toEqual([query, 400]);
    expect((await as(by, "GET", `${path}?search=rare`)).body.items).toEqual([]);
  }
  expect((await as(people.buyer, "GET", `${path}?search=rare&filter[parts.cost]=7`)).body.items).toHaveLength(
    1,
  );
  const write = (method: string, sent: object) => as(people.user, method, at, { values: sent });
  for (const [method, sent, told] of [
    ["PATCH", { parts: { a: { cost: 1 } } }, "/values/parts/0/cost unknown_property"],
    ["PATCH", { parts: { a: null } }, "/values/parts read_only"],
    ["PUT", { title: "two" }, "/values/parts read_only"],
    ["PATCH", { body: { markdown: "Only this" } }, "/values/body read_only"],
  ] as const) {
    const refused = await write(method, sent);
    expect([refused.status, `${refused.body.errors[0].path} ${refused.body.errors[0].code}`]).toEqual([
      422,
      told,
    ]);
  }
  expect(await write("PUT", { ...seen, title: "two" })).toMatchObject({
    status: 200,
    body: { values: { ...seen, title: "two" } },
  });
  const draft = await as(people.user, "GET", `${at}?revision=latest&richText=markdown`);
  const markdown = `Before\n\n${draft.body.values.body}`;
  expect((await write("PATCH", { body: { markdown } })).status).toBe(200);
  const kept = (await as(people.buyer, "GET", `${at}?revision=latest`)).body.values;
  expect(kept).toMatchObject({ ...values, title: "two", body: [{ _type: "block" }, offer] });
  expect((await as(people.user, "POST", `${at}/publish`)).status).toBe(200);
  const history = await as(people.user, "GET", `${at}/revisions/2?against=1`);
  expect(JSON.stringify(history.body)).not.toMatch(/cost|C1|rare/);
  const newest = (await as(people.user, "GET", `${at}?revision=latest`)).body.values;
  const drafted = await as(people.buyer, "PATCH", at, { values: { seo: { rank: 5, code: "C2" } } });
  expect(drafted.status).toBe(200);
  const published = { values: { ...newest, seo: { word: "lamp" } } };
  expect((await as(people.user, "PUT", `${at}?publish=true`, published)).status).toBe(200);
  const [live, latest] = await Promise.all(
    ["", "?revision=latest"].map(
      async (query) => (await as(people.buyer, "GET", `${at}${query}`)).body.values,
    ),
  );
  expect([live.seo, latest.seo]).toEqual([
    { code: "C1", rank: 1, word: "lamp" },
    { code: "C2", rank: 5, word: "lamp" },
  ]);
});

test("expanded entries leave out what the caller may not read there", async () => {
  const place = await newPlace();
  const { orb, path, people } = place;
  const id = await newProduct(place);
  const body = { ...document(orb) };
  const vendor = { name: "best", type: "reference", ref: `${orb}/catalog/product` };
  body.modules[1]?.schemas[0]?.fields.push(vendor);
  expect((await as(token, "PUT", `/api/admin/orbs/${orb}?publish=true`, body)).status).toBe(200);
  const made = await as(token, "POST", `/api/${orb}/parties?publish=true`, { values: { best: id } });
  const expanded = async (by: By) => {
    const one = await as(by, "GET", `/api/${orb}/parties/${made.body.id}?expand=best`);
    const listed = await as(by, "GET", `/api/${orb}/parties?expand=best&filter[best]=${id}`);
    const direct = await as(by, "GET", `${path}/${id}`);
    expect(one.body.expand.best.values).toEqual(direct.body.values);
    expect(listed.body.items[0].expand.best.values).toEqual(direct.body.values);
    return one.headers.get("etag");
  };
  const tags = [await expanded(undefined), await expanded(people.user), await expanded(people.buyer)];
  expect(new Set(tags).size).toBe(3);
});

test("records and settings obey their fields", async () => {
  const { orb, people } = await newPlace();
  const record = (by: By, values: Bag) => as(by, "POST", `/api/${orb}/record`, { values });
  const refused = await record(people.user, { amount: 1, checked: "yes" });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ code: "unknown_property" }] } });
  const made = await record(people.buyer, { amount: 1, checked: "yes" });
  expect(made).toMatchObject({ status: 200, body: { values: { amount: 1 } } });
  expect(made.body.values).not.toHaveProperty("checked");
  const list = async (by: By) => (await as(by, "POST", `/api/${orb}/list`, {})).body.items[0].values;
  expect(await list(people.buyer)).toEqual({ amount: 1 });
  expect(await list(people.admin)).toEqual({ amount: 1, checked: "yes" });

  const set = (by: By, values: Bag) => as(by, "POST", `/api/${orb}/set`, { values });
  expect(await set(people.user, { plan: "gold" })).toMatchObject({
    status: 422,
    body: { errors: [{ code: "read_only" }] },
  });
  expect(await set(people.user, { score: 1 })).toMatchObject({
    status: 422,
    body: { errors: [{ code: "unknown_property" }] },
  });
  const mine = await set(people.user, { theme: "dark" });
  expect(mine.body.values).toEqual({ theme: "dark", plan: "free" });
  expect((await set(people.admin, { plan: "gold", score: 2 })).body.values).toEqual({
    plan: "gold",
    score: 2,
  });
});

test("streams and anonymous readers follow a field that narrows and widens, with stored entries", async () => {
  const place = await newPlace();
  const { orb, path } = place;
  const id = await newProduct(place);
  const mapping = {
    stream: `ø${orb}`,
    subjectFilter: `${orb}.content.public.>`,
    description: "Products",
    read: "public",
  };
  expect((await as(token, "PUT", `/api/admin/streams/${orb}`, mapping)).status).toBeLessThan(300);
  const seen = async () => {
    const { body } = await as(undefined, "GET", `/api/streams/${orb}?offset=-1`);
    const events = (body as { id: string; values: Bag }[]).filter((event) => event.id === id);
    const read = await as(undefined, "GET", `${path}/${id}?locale=*`);
    expect(events.at(-1)?.values).toEqual(read.body.values);
    return Object.keys(read.body.values).sort();
  };
  expect(await seen()).toEqual(["state", "title"]);
  await republish(orb, {
    fields: FIELDS.map((field) => (field.name === "cost" ? { name: "cost", type: "number" } : field)),
  });
  expect(await seen()).toEqual(["cost", "state", "title"]);
  await republish(orb, {});
  expect(await seen()).toEqual(["state", "title"]);
  // Fewer readers of the whole schema: the copies leave the public subject, and come back.
  await republish(orb, { access: { ...ACCESS, read: ["buyer"] } });
  const closed = await as(undefined, "GET", `/api/streams/${orb}?offset=-1`);
  expect((closed.body as { tombstone?: boolean }[]).filter((event) => event.tombstone !== true)).toEqual([
    expect.objectContaining({ schema: "vendor" }),
  ]);
  expect((await as(undefined, "GET", `${path}/${id}`)).status).toBe(401);
  expect(names(await as(place.people.buyer, "GET", `${path}/${id}`))).toContain("cost");
  await republish(orb, {});
  expect(await seen()).toEqual(["state", "title"]);
});

test("descriptions say who reads and sets a field", async () => {
  const { orb } = await newPlace();
  const { body } = await as(undefined, "GET", `/api/openapi?orb=${orb}`);
  const { properties } = body.components.schemas[`${orb}.catalog.product.Values`];
  expect(properties.cost.description).toBe("Only for buyer. Set by buyer.");
  const discovered = await as(undefined, "GET", `/api/discovery?orb=${orb}`);
  const fields = discovered.body.orbs[0].modules[0].schemas[0].fields as Bag[];
  expect(fields.find(({ name }) => name === "cost")?.access).toEqual({ read: ["buyer"], write: ["buyer"] });
});
