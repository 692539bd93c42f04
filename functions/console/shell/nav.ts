/** The pages of the console, in the form that routes and navigation use. */
import type { ComponentType } from "preact";
import { type Caller, isPlatformAdmin, maySome, writesSome } from "../api/caller.ts";
import type { FieldModel, OrbModel } from "../model/orb.ts";
import type { TextKey } from "../texts/t.ts";
import type { IconName } from "../ui/icon.tsx";

/** The parameters of a page's path by name. */
export type PageParams = Readonly<Record<string, string>>;

export type PageComponent = ComponentType<{ params: PageParams }>;

export interface Route {
  /** Path below /console, with parameters such as `:orb`. The first route that matches shows the page. */
  path: string;
  load: () => Promise<{ default: PageComponent }>;
  /** Returns whether the caller sees the page. The platform checks every request again. */
  visible?: (caller: Caller) => boolean;
  /** Returns whether the navigation shows the page for an application. */
  fits?: (orb: OrbModel) => boolean;
  /** Whether the page itself says where to sign in. Other pages appear only to callers who are signed in. */
  asks?: boolean;
  /** The page's link in the navigation. Users reach a page without such a link through other pages. */
  nav?: { label: TextKey; icon: IconName };
}

/** For pages that only platform admins see. */
export const forAdmins = isPlatformAdmin;

/**
 * For pages about an application's users: visible to platform admins, and to users who may manage the application's
 * users.
 */
export const forManagers = (caller: Caller): boolean =>
  isPlatformAdmin(caller) || (caller.orb?.users ?? "none") !== "none";

const BUILT_IN: readonly string[] = ["public", "user", "admin", "owner"];

/**
 * For pages about change sets: visible to callers who may write some entries, or whose role of the application may be
 * that of reviewers.
 */
export const forAuthors = (caller: Caller): boolean =>
  isPlatformAdmin(caller) ||
  (caller.orb !== null && !BUILT_IN.includes(caller.account?.role ?? "public")) ||
  writesSome(caller);

/** For pages about content of others: visible to callers who may read the drafts of some schema. */
export const forEditors = (caller: Caller): boolean => maySome(caller, ["update", "publish"], false);

const holdsFile = ({ type, fields = [], blocks = [] }: FieldModel): boolean =>
  type === "file" || fields.some(holdsFile) || blocks.some((block) => block.fields.some(holdsFile));

/** Returns whether some schema or component of an application has a field for files. */
export const hasFiles = ({ modules, components = [] }: OrbModel): boolean =>
  [...modules.flatMap(({ schemas }) => schemas), ...components].some(({ fields }) => fields.some(holdsFile));

/**
 * Returns the path of the page that shows sample code for a request to a schema's API.
 * @param request the properties `operation`, and `query` (of a list) or `entry` (an id)
 */
export const codeLink = (
  { orb, module, schema }: { orb: string; module: string; schema: string },
  request: Readonly<Record<string, string>>,
): string => `${orbLink(orb, "api")}?${new URLSearchParams({ schema: `${module}/${schema}`, ...request })}`;

/** Returns the path of a page of an application: `orbLink("shop", "schema")`. */
export const orbLink = (orb: string, ...segments: readonly string[]): string =>
  ["/orbs", orb, ...segments].map((part, at) => (at === 0 ? part : encodeURIComponent(part))).join("/");
