/** Makes exports of WordPress, as Tools → Export writes them. */

const cdata = (text: string) => `<![CDATA[${text}]]>`;

const members = (values: Readonly<Record<string, string>>, prefix = "wp:") =>
  Object.entries(values)
    .map(([name, value]) => `<${prefix}${name}>${cdata(value)}</${prefix}${name}>`)
    .join("\n");

export interface ExportedPost {
  id: number;
  type?: string;
  title: string;
  creator?: string;
  content?: string;
  /** Members of the item in the namespace of WordPress. */
  more?: Readonly<Record<string, string>>;
  /** Taxonomy, slug and name of each term. */
  terms?: readonly (readonly [string, string, string])[];
  meta?: Readonly<Record<string, string>>;
  comments?: readonly Readonly<Record<string, string>>[];
}

export function exportedPost(post: ExportedPost): string {
  const { id, type = "post", title, creator = "ann", content = "", more = {}, terms = [], meta = {} } = post;
  const date = "2015-06-07 08:09:10";
  const own = { post_id: String(id), post_date_gmt: date, post_modified_gmt: date, post_name: `slug-${id}` };
  return `<item>
    <title>${cdata(title)}</title>
    <link>https://blog.example/${id}</link>
    <dc:creator>${cdata(creator)}</dc:creator>
    <content:encoded>${cdata(content)}</content:encoded>
    <excerpt:encoded>${cdata("")}</excerpt:encoded>
    ${members({ ...own, status: "publish", post_type: type, post_parent: "0", menu_order: "0", ...more })}
    ${terms.map(([domain, slug, name]) => `<category domain="${domain}" nicename="${slug}">${cdata(name)}</category>`).join("\n")}
    ${Object.entries(meta)
      .map(([key, value]) => `<wp:postmeta>${members({ meta_key: key, meta_value: value })}</wp:postmeta>`)
      .join("\n")}
    ${(post.comments ?? []).map((comment) => `<wp:comment>${members(comment, "wp:comment_")}</wp:comment>`).join("\n")}
  </item>`;
}

/** @param before elements of the channel before its items */
export const wordpressExport = (
  posts: readonly string[],
  before = "",
  prolog = "",
): string => `<?xml version="1.0"?>
${prolog}
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:wp="https://wordpress.org/export/1.2/">
<channel>
  <title>A blog</title>
  <wp:author>${members({ author_login: "ann", author_email: "ann@example.org", author_display_name: "Ann" })}</wp:author>
  ${before}
  ${posts.join("\n")}
</channel>
</rss>`;
