import { createHash } from "node:crypto";
import { parsedHome, streams, subjects } from "../../shared/store/subjects.ts";
import type { Target } from "./measure.ts";
import { document, values } from "./seed.ts";
import type { Served, Stand } from "./stand.ts";

/** Stands for the value `category-7` in the subjects of the equality index. */
const CATEGORY_7 = `h${createHash("sha256").update("s:category-7").digest("base64url").slice(0, 22)}`;

export interface Seeded {
  orb: string;
  ids: string[];
}

const at = (orb: string) => ({ orb, ...parsedHome("content", "product") }) as const;
const body = () => JSON.stringify({ values: values(1) });

/** Returns the requests that users send to one orb (application). */
export function requests(
  seeded: Seeded,
  token: string,
): Record<string, Pick<Target, "path" | "method" | "body" | "headers" | "keys">> {
  const base = `/api/${seeded.orb}/catalog`;
  const signedIn = { authorization: `Bearer ${token}` };
  const admin = `/api/admin/orbs/${seeded.orb}/entries`;
  return {
    "get entry": { path: `${base}/{any}`, keys: seeded.ids },
    "list 50": { path: `${base}?limit=50` },
    "list 50, newest first": { path: `${base}?limit=50&sort=-createdAt` },
    "filter by indexed field": { path: `${base}?limit=50&filter[category]=category-7` },
    "create draft": { path: base, method: "POST", body: body(), headers: signedIn },
    "create and publish": { path: `${base}?publish=true`, method: "POST", body: body(), headers: signedIn },
    revisions: { path: `${admin}/{any}/revisions`, headers: signedIn, keys: seeded.ids },
  };
}

export function targetsOf(
  stand: Stand,
  part: Served,
  seeded: Seeded,
  token: string,
  label: string,
): Target[] {
  return Object.entries(requests(seeded, token)).map(([name, request]) => ({
    ...request,
    name: `${label}${name}`,
    url: part.url,
    pid: part.pid,
    brokerPid: stand.brokerPid,
  }));
}

export function orbTargets(stand: Stand, orb: string, token: string): Target[] {
  const { url, pid } = stand.functions;
  const shared = { url, pid, brokerPid: stand.brokerPid, headers: { authorization: `Bearer ${token}` } };
  const list = "/api/admin/orbs?limit=50";
  return [
    { ...shared, name: "list 50 orbs", path: list },
    { ...shared, name: "list 50 orbs, newest first", path: `${list}&sort=-createdAt` },
    {
      ...shared,
      name: "update and publish an orb",
      method: "PUT",
      path: `/api/admin/orbs/${orb}?publish=true`,
      body: JSON.stringify({ ...document(orb), description: "Changed." }),
    },
  ];
}

/** Returns requests to a minimal server (floor). No implementation of the platform can be faster than this server. */
export function floorTargets(stand: Stand, { orb, ids }: Seeded): Target[] {
  const stream = streams.orb(orb);
  const place = (of: string, subject: string) => encodeURIComponent(`${of}/${subject}`);
  const definition = `get=${place("KV_orbs", `$KV.orbs.${orb}`)}`;
  const head = subjects.entryLog({ ...at(orb), id: "x" }).slice(0, -1);
  const live = subjects.entryLive({ ...at(orb), id: "x" }, "public").slice(0, -1);
  const entry = (prefix: string) => `get=${place(stream, `${prefix}{any}`).replace("%7Bany%7D", "{any}")}`;
  const of = { url: stand.floor.url, pid: stand.floor.pid, brokerPid: stand.brokerPid };
  const index = place(stream, subjects.schemaOrder(at(orb)));
  const category = place(stream, subjects.equalityOf(at(orb), "category", CATEGORY_7));
  const put = (subject: string) => `put=${encodeURIComponent(`${subject}{n}`)}`;
  return [
    { ...of, name: "floor: pong", path: "/pong" },
    {
      ...of,
      name: "floor: get entry",
      path: `/get?${definition}&${entry(live)}&${entry(head)}`,
      keys: ids,
    },
    { ...of, name: "floor: list 50", path: `/list?${definition}&index=${index}&of=${head}&of=${live}` },
    {
      ...of,
      name: "floor: filter by indexed field",
      path: `/list?${definition}&index=${category}&of=${head}&of=${live}`,
    },
    {
      ...of,
      name: "floor: create draft",
      method: "POST",
      body: body(),
      path: `/write?${definition}&get=${place("KV_sessions", "$KV.sessions.platform.bench.none")}&${put(`${orb}._bench.a.`)}&${put(`${orb}._bench.b.`)}`,
    },
  ];
}

export function hostFloorTargets(stand: Stand, { orb, ids }: Seeded): Target[] {
  const of = { url: stand.hostFloor.url, pid: stand.hostFloor.pid, brokerPid: stand.brokerPid };
  const log = subjects.entryLog({ ...at(orb), id: "x" }).slice(0, -1);
  return [
    { ...of, name: "host floor: pong", path: "/pong" },
    {
      ...of,
      name: "host floor: direct get",
      path: `/get?get=${encodeURIComponent(`${streams.orb(orb)}/${log}`)}{any}`,
      keys: ids,
    },
  ];
}
