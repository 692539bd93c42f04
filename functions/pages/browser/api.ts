import { ceremonies } from "./ceremony.ts";
import { Refused } from "./words.ts";

type Json = Record<string, unknown>;

async function send(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Json> {
  let response: Response;
  try {
    response = await fetch(path, {
      method: "POST",
      credentials: "same-origin",
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Refused("network");
  }
  const answer = (await response.json().catch(() => ({}))) as Json;
  if (!response.ok) throw new Refused(typeof answer.code === "string" ? answer.code : "unknown");
  return answer;
}

export type RealmApi = ReturnType<typeof realmApi>;

/** Returns the requests of the sign-in page. @param base path of the realm's routes, such as `/api/shop` */
export function realmApi(base: string) {
  return {
    ...ceremonies(base, send),
    signOut: () => send(`${base}/signout`),
    /** @param request query parameters of the page's URL */
    allowProgram: async ({ days, ...request }: Record<string, string>) =>
      (await send(`${base}/signin/program`, { ...request, days: Number(days) })) as {
        code: string;
        url: string | null;
      },
  };
}
