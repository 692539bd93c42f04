/** Random requests of callers with different roles, compared with a model of what each of them sees. */
import { expect, test } from "vitest";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { sharedPlatform } from "../support/platform.ts";
import { rounds, testRandom } from "../support/random.ts";

const ROUNDS = rounds(100);
const NAMES = ["a", "b", "c", "d"] as const;
const CALLERS = ["public", "user", "own", "admin", "owner", "red", "blue"] as const;
const ROLES = [
  { id: "red", name: "Red" },
  { id: "blue", name: "Blue", extends: "admin" },
];

type Values = Record<string, string>;
interface Rule {
  read?: string[];
  write?: string[];
}

/** The definition of access, written a second time and in other words. */
function allowed(list: string[], role: string, own: boolean): boolean {
  const base = { public: 0, user: 1, red: 1, admin: 2, blue: 2, owner: 3 }[role] ?? 0;
  return list.some((name) => {
    if (name === role) return true;
    if (name === "own") return base >= 2 || (own && base >= 1);
    if (name === "red") return base >= 2;
    if (name === "blue") return base >= 3;
    return base >= ["public", "user", "admin", "owner"].indexOf(name);
  });
}

test("each caller reads and writes exactly what the model allows", async () => {
  const random = testRandom();
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const orb = "fieldmodel";
  const path = `/api/${orb}/things`;
  const list = (names: readonly string[]) => {
    const chosen = names.filter(() => random.below(3) === 0);
    return chosen.length === 0 ? [random.pick(names)] : chosen;
  };
  let access: Record<string, string[]> = {};
  let rules: Record<string, Rule> = {};
  const define = async (method: string) => {
    access = {
      read: list(CALLERS),
      create: list(CALLERS.filter((name) => name !== "own" && name !== "public")),
      update: list(CALLERS.filter((name) => name !== "public")),
      publish: list(CALLERS.filter((name) => name !== "public")),
    };
    const rule = (): Rule => ({
      ...(random.below(2) === 0 ? { read: list(CALLERS) } : {}),
      ...(random.below(2) === 0 ? { write: list(CALLERS) } : {}),
    });
    rules = Object.fromEntries(NAMES.map((name) => [name, rule()]));
    const fields = NAMES.map((name) => ({ name, type: "string", access: rules[name] }));
    const uses = [{ service: "access", handlers: ["passkey", "invitations"] }];
    const modules = [{ id: "things", type: "CONTENT", schemas: [{ id: "thing", access, fields }] }];
    const to = method === "POST" ? "/api/admin/orbs" : `/api/admin/orbs/${orb}`;
    const body = { id: orb, roles: ROLES, uses, modules };
    const answer = await call(platform, method, `${to}?publish=true`, { token, body });
    expect(answer.status).toBeLessThan(300);
  };
  await define("POST");
  const people: { role: string; by?: SignedIn }[] = [{ role: "public" }];
  for (const role of ["user", "user", "red", "admin", "blue", "owner"])
    people.push({ role, by: await user(platform, orb, role) });
  const entries = new Map<string, { by: string | undefined; draft: Values; live: Values | null }>();

  const send = ({ by }: { by?: SignedIn }, method: string, to: string, body?: unknown) =>
    call(platform, method, to, {
      ...(by === undefined ? {} : { token: by.token }),
      ...(body === undefined ? {} : { body }),
    });
  const may = (action: string, role: string, own: boolean) => allowed(access[action] ?? [], role, own);
  const mayField = (name: string, action: "read" | "write", role: string, own: boolean) => {
    const rule = rules[name]?.[action];
    return rule === undefined || allowed(rule, role, own);
  };
  const seen = (values: Values, role: string, own: boolean): Values =>
    Object.fromEntries(Object.entries(values).filter(([name]) => mayField(name, "read", role, own)));
  /** Returns what a write stores, or null if it is refused. */
  const written = (sent: Values, before: Values, role: string, own: boolean): Values | null => {
    const after: Values = {};
    for (const name of NAMES) {
      const [read, write] = [mayField(name, "read", role, own), mayField(name, "write", role, own)];
      const value = sent[name];
      if (value !== undefined && !write && !(read && before[name] === value)) return null;
      const kept = value === undefined && read && write ? undefined : before[name];
      const next = value !== undefined && write ? value : kept;
      if (next !== undefined) after[name] = next;
    }
    return after;
  };
  const randomValues = (): Values =>
    Object.fromEntries(
      NAMES.filter(() => random.below(3) === 0).map((name) => [name, `v${random.below(4)}`]),
    );

  for (let round = 0; round < ROUNDS; round++) {
    if (random.below(25) === 0) await define("PUT");
    const caller = random.pick(people);
    const { role, by } = caller;
    const id = entries.size === 0 ? undefined : random.pick([...entries.keys()]);
    const entry = id === undefined ? undefined : entries.get(id);
    const own = by !== undefined && entry?.by === by.id;
    const act = random.pick(["create", "update", "publish", "get", "latest", "list", "filter"] as const);
    if (act === "create") {
      const values = randomValues();
      const stored = written(values, {}, role, by !== undefined);
      const made = await send(caller, "POST", path, { values });
      if (!may("create", role, false)) expect([401, 403]).toContain(made.status);
      else if (stored === null) expect(made.status).toBe(422);
      else {
        expect(made).toMatchObject({ status: 201 });
        expect(made.body.values).toEqual(seen(stored, role, by !== undefined));
        entries.set(made.body.id, { by: by?.id, draft: stored, live: null });
      }
    } else if (act === "list") {
      const answer = await send(caller, "GET", `${path}?limit=200&count=true`);
      const visible = [...entries].flatMap(([one, { by: creator, live }]) => {
        const mine = by !== undefined && creator === by.id;
        return live !== null && may("read", role, mine) ? [[one, seen(live, role, mine)] as const] : [];
      });
      if (!may("read", role, by !== undefined)) expect([401, 403]).toContain(answer.status);
      else {
        const got = answer.body.items.map((item: { id: string; values: Values }) => [item.id, item.values]);
        expect(Object.fromEntries(got)).toEqual(Object.fromEntries(visible));
        expect(answer.body.total).toBe(visible.length);
      }
    } else if (act === "filter") {
      const [name, value] = [random.pick(NAMES), `v${random.below(4)}`];
      const answer = await send(
        caller,
        "GET",
        `${path}?limit=200&count=true&filter[${name}]=${value}&sort=${name}`,
      );
      const onlyOwn = !may("read", role, false);
      if (!may("read", role, by !== undefined)) expect([401, 403]).toContain(answer.status);
      else if (!mayField(name, "read", role, onlyOwn && by !== undefined)) expect(answer.status).toBe(400);
      else {
        const found = [...entries].filter(
          ([, one]) => one.live?.[name] === value && may("read", role, by !== undefined && one.by === by.id),
        );
        expect(answer.body.items.map((item: { id: string }) => item.id).sort()).toEqual(
          found.map(([one]) => one).sort(),
        );
        expect(answer.body.total).toBe(found.length);
      }
    } else if (id !== undefined && entry !== undefined) {
      const drafts = may("update", role, own) || may("publish", role, own);
      if (act === "get" || act === "latest") {
        const answer = await send(
          caller,
          "GET",
          `${path}/${id}${act === "latest" ? "?revision=latest" : ""}`,
        );
        const shown = act === "latest" && drafts ? entry.draft : may("read", role, own) ? entry.live : null;
        const mine = by !== undefined;
        const ever =
          act === "latest"
            ? may("update", role, mine) || may("publish", role, mine)
            : may("read", role, mine);
        if (!ever) expect([401, 403]).toContain(answer.status);
        else if (shown === null) expect(answer.status).toBe(404);
        else expect(answer.body.values).toEqual(seen(shown, role, own));
      } else if (act === "update") {
        const values = randomValues();
        const stored = written(values, entry.draft, role, own);
        const answer = await send(caller, "PUT", `${path}/${id}`, { values });
        if (!may("update", role, own)) expect([401, 403, 404]).toContain(answer.status);
        else if (stored === null) expect(answer.status).toBe(422);
        else {
          expect(answer.status).toBe(200);
          expect(answer.body.values).toEqual(seen(stored, role, own));
          entry.draft = stored;
        }
      } else {
        const answer = await send(caller, "POST", `${path}/${id}/publish`);
        if (!may("publish", role, own)) expect([401, 403, 404]).toContain(answer.status);
        else if (answer.status !== 409) {
          expect(answer.status).toBe(200);
          expect(answer.body.values).toEqual(seen(entry.draft, role, own));
          entry.live = entry.draft;
        }
      }
    }
  }
}, 120_000);
