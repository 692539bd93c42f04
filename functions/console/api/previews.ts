/** Requests about preview links. */
import type { EntryPlace } from "./entries.ts";
import { pathOf, post, remove } from "./http.ts";

export interface PreviewLink {
  id: string;
  /** Address of the page, with the token of the link. */
  url: string;
  /** Origin of the site. */
  site: string;
  expiresAt: string;
}

export interface PreviewWish {
  locale?: string | undefined;
  market?: string | undefined;
  /** Seconds until the link ends. */
  expiresIn?: number;
}

/** Makes a link to the page that shows an entry. */
export const makePreview = (
  { orb, module, schema, change }: EntryPlace,
  entry: string,
  wish: PreviewWish,
): Promise<PreviewLink> =>
  post(`/api${pathOf(orb, "_previews")}`, { module, schema, entry, change, ...wish }, { once: false });

export const endPreview = (orb: string, id: string): Promise<void> =>
  remove(`/api${pathOf(orb, "_previews", id)}`);
