import { createHash } from "node:crypto";
import type { Context } from "hono";
import { authenticate } from "../../shared/access/authenticate.ts";
import { realmOf } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { isAnotherOrb, noLiveOrb, requireLive, requireWhole } from "../../shared/definition/stored/index.ts";
import { fileUrl } from "../../shared/files/record.ts";
import { type Authority, uploadFile } from "../../shared/files/upload.ts";
import { completeResponse } from "../middleware/headers.ts";
import { credentialsOf, hasCredentials, identify, requireUsable } from "../middleware/session.ts";
import { readUpload } from "../middleware/upload-body.ts";
import type { AppEnv } from "../request/context.ts";
import { digestIn, nameIn } from "./headers.ts";
import { parametersOf } from "./parameters.ts";

/** Bytes of a file that must arrive per second on average. */
const LEAST_RATE = 1_024;

export async function* bodyOf(c: Context<AppEnv>): AsyncGenerator<Uint8Array> {
  const { body } = c.req.raw;
  if (body !== null) yield* readUpload(body, LEAST_RATE);
}

/** Returns a function that authenticates the client again at each call, with the application's current definition. */
export function authorityOf(c: Context<AppEnv>, orb: string): () => Promise<Authority> {
  const { deps } = c.var;
  let first: LiveOrb | undefined;
  return async () => {
    const live = await requireLive(deps, orb);
    if (c.req.method !== "HEAD") requireWhole(orb, live.fence);
    if (first !== undefined && isAnotherOrb(first.fence, live.fence)) throw noLiveOrb();
    const want = {
      platform: true,
      realms: [realmOf(orb, live.compiled.usesAccess)],
      handlersOf: orb,
      pinned: true,
    };
    const isRepeated = first !== undefined && hasCredentials(c);
    first = live;
    const actor = isRepeated
      ? await authenticate(deps, credentialsOf(c), want, "leader")
      : await identify(c, want);
    return { actor, live };
  };
}

export async function upload(c: Context<AppEnv>, orb: string): Promise<Response> {
  const { name } = parametersOf(c, ["name"]);
  await requireUsable(c, orb);
  const hash = createHash("sha256");
  const file = await uploadFile(c.var.deps, {
    orb,
    body: bodyOf(c),
    length: Number(c.req.header("content-length") ?? 0),
    name: name ?? nameIn(c.req.header("content-disposition")),
    type: c.req.header("content-type"),
    sha256: digestIn(c.req.header("content-digest")),
    hash: { update: (data) => void hash.update(data), digest: () => hash.digest() },
    authority: authorityOf(c, orb),
  });
  return completeResponse(c, JSON.stringify(file), 201, {
    "content-type": "application/json",
    location: fileUrl(orb, file),
  });
}
