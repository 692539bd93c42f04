/** A site of plain HTML: `npm start --prefix scripts/examples/sites/plain`. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { preview } from "composable-platform/preview";

const PLATFORM = process.env.PLATFORM ?? "http://localhost:8787";
const ORB = process.env.ORB ?? "newsroom";
const SCRIPT = readFileSync(fileURLToPath(import.meta.resolve("composable-platform/preview")));

const html = (text) => String(text ?? "").replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const date = (day, locale) =>
  day && new Date(day).toLocaleDateString(locale, { dateStyle: "long", timeZone: "UTC" });

createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://site");
  const page = preview({ url: PLATFORM, address: request.url });
  if (pathname === "/preview.js") return response.setHeader("content-type", "text/javascript").end(SCRIPT);
  const [, locale, slug] = /^\/(en|de)\/news\/([\w-]+)$/.exec(pathname) ?? [];
  const address = `${PLATFORM}/api/${ORB}/pages/article/by/slug/${slug}?locale=${locale}&richText=html`;
  const answer = slug === undefined ? undefined : await fetch(address, { headers: page.headers });
  response.setHeader("content-type", "text/html; charset=utf-8");
  if (answer?.ok !== true)
    return response.writeHead(404).end("<!doctype html><title>News</title><p>No such article.");
  const { values } = await answer.json();
  return response.end(`<!doctype html>
<html lang="${locale}">
<head><meta charset="utf-8"><title>${html(values.title)}</title>${page.script("/preview.js")}</head>
<body>
<article>
<h1${page.mark("title")}>${html(values.title)}</h1><time${page.mark("published")}>${html(date(values.published, locale))}</time>
<p${page.mark("lead")}>${html(values.lead)}</p>
<div${page.mark("body")}>${values.body ?? ""}</div>
<a href="/${locale}/news/other"><strong${page.mark("slug")}>More</strong></a>
</article>
</body>
</html>
`);
}).listen(Number(process.env.PORT ?? 4320), "127.0.0.1");
