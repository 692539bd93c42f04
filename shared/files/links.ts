/** Signed links. The holder of a link can download one file until the link expires, without signing in. */
import type { Config, Deps } from "../deps.ts";
import { hmacs } from "../entry/model/index.ts";
import { sameText } from "../kernel/ids.ts";

export const LINK_SECONDS = { min: 1, max: 7 * 86_400, default: 3_600 } as const;

const signed = (orb: string, id: string, expires: number) => `$file-link/${orb}/${id}/${expires}`;

/** Signs a link. @param expires seconds since the epoch */
export async function signLink(config: Config, orb: string, id: string, expires: number): Promise<string> {
  const [signature = ""] = await hmacs(config, signed(orb, id, expires));
  return signature;
}

/**
 * Returns whether a link's signature is valid. Links signed with an older key stay valid as long as that key is
 * configured.
 */
export async function isSigned(
  { config, clock }: Pick<Deps, "config" | "clock">,
  orb: string,
  id: string,
  link: { expires: number; signature: string },
): Promise<boolean> {
  if (link.expires * 1000 <= clock.now()) return false;
  const valid = await hmacs(config, signed(orb, id, link.expires));
  return valid.map((each) => sameText(each, link.signature)).includes(true);
}
