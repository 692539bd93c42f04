/** What a page of a site does with a preview link: on the server, and in the browser. */

export interface PreviewOptions {
  /** URL of the platform, such as `https://platform.example`. Only its console may follow the page. */
  url: string;
  /**
   * Address of the page: `request.url`, or a query such as `?orb-preview=…`. In a browser, the default is the address of
   * the document.
   */
  address?: string | URL | undefined;
}

/** Query parameter that contains the token of a preview link. */
const PARAMETER = "orb-preview";
/** Attribute of the elements that show a field. */
export const FIELD = "data-orb-field";
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The part of a preview that needs no document. */
export class PreviewLink {
  /** The token of the preview link. Undefined for visitors. */
  readonly token: string | undefined;
  /** Headers for requests to the platform. Empty for visitors. */
  readonly headers: Readonly<Record<string, string>>;
  protected readonly platform: string;

  /** @throws TypeError if `url` is no URL */
  constructor({ url, address }: PreviewOptions) {
    this.platform = new URL(url).origin;
    const { location } = globalThis as { location?: { href: string } };
    const given = String(address ?? location?.href ?? "");
    const at = given.indexOf("?");
    const search = at < 0 ? "" : (given.slice(at + 1).split("#")[0] ?? "");
    const token = new URLSearchParams(search).get(PARAMETER) ?? "";
    this.token = TOKEN.test(token) ? token : undefined;
    this.headers = this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
  }

  /** Whether the page was opened by a preview link. */
  get active(): boolean {
    return this.token !== undefined;
  }

  /**
   * Returns the attributes of an element that shows a field. Empty for visitors.
   * @param path the field, such as `title`, or a place in it, such as `seo/title` or `body/{_key}`
   */
  field(path: string): Readonly<Record<string, string>> {
    return this.active ? { [FIELD]: path } : {};
  }

  /** Returns the same attributes as text for a template: ` data-orb-field="title"`. Empty for visitors. */
  mark(path: string): string {
    const escaped = path.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
    return this.active ? ` ${FIELD}="${escaped}"` : "";
  }

  /**
   * Returns the element that connects the page with the console. Empty for visitors.
   * @param src address of `preview.js` on the site
   */
  script(src: string): string {
    if (!this.active) return "";
    const text = (value: string) => JSON.stringify(value).replaceAll("<", "\\u003c");
    return `<script type="module">import { preview } from ${text(src)}; preview({ url: ${text(this.platform)} }).follow();</script>`;
  }
}
