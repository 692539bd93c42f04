/** The pages of the console, as the routes declare them and the navigation shows them. */
import type { ComponentType } from "preact";
import { type Caller, isPlatformAdmin } from "../api/caller.ts";
import type { TextKey } from "../texts/t.ts";
import type { IconName } from "../ui/icon.tsx";

/** The parameters of a page's path by name. */
export type PageParams = Readonly<Record<string, string>>;

export type PageComponent = ComponentType<{ params: PageParams }>;

export interface Route {
  /** Path below /console, with parameters such as `:orb`. The first route that matches shows the page. */
  path: string;
  load: () => Promise<{ default: PageComponent }>;
  /** Whether the caller sees the page. The platform decides again with every request. */
  visible?: (caller: Caller) => boolean;
  /** The page's place in the navigation. Pages without one are reached from other pages. */
  nav?: { label: TextKey; icon: IconName };
}

/** Pages of platform admins. */
export const forAdmins = isPlatformAdmin;

/** Pages of an orb for platform admins, and for users who may manage the orb's users. */
export const forManagers = (caller: Caller): boolean =>
  isPlatformAdmin(caller) || (caller.orb?.users ?? "none") !== "none";

/**
 * Returns the path of the page that shows a request to a schema's API as code.
 * @param request `operation`, and the `query` of a list or the id of an `entry`
 */
export const codeLink = (
  { orb, module, schema }: { orb: string; module: string; schema: string },
  request: Readonly<Record<string, string>>,
): string => `${orbLink(orb, "api")}?${new URLSearchParams({ schema: `${module}/${schema}`, ...request })}`;

/** Returns the path of a page of an orb: `orbLink("shop", "schema")`. */
export const orbLink = (orb: string, ...segments: readonly string[]): string =>
  ["/orbs", orb, ...segments].map((part, at) => (at === 0 ? part : encodeURIComponent(part))).join("/");
