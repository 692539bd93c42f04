/** Reads a running Payload over its REST API, as the lines that an export has. */
import { isObject } from "../../../../../shared/kernel/json.ts";
import { CommandError } from "../../../command/context.ts";
import { type Api, findApi, MOST_PAGES, pageCheck, readApi } from "../../model/http.ts";
import { objectsIn, textIn } from "../../model/read-json.ts";
import { OWN } from "./own.ts";

type Item = Record<string, unknown>;

/** Documents in an answer, and drafts that are read at once. */
const PAGE = 100;
const AT_ONCE = 8;
/** All languages, and ids instead of referenced documents. */
const WHOLE = "depth=0&locale=all";
/** The address that the guide adds, because Payload itself does not show its fields. */
const CONFIG = "/api/orb-config";

export const isAddress = (source: string): boolean => /^https?:\/\//i.test(source);

/**
 * Yields the configuration, and then each document with its newest draft.
 * @throws CommandError if the account of the token may not read a collection
 */
export async function* linesOf(api: Api): AsyncGenerator<Item> {
  const config = await findApi(api, CONFIG);
  if (!isObject(config))
    throw new CommandError(
      `${api.url}${CONFIG} does not exist. Add the endpoint of the guide move-in-from-payload.md to the project of Payload.`,
    );
  // Addresses of files begin with that of the API if the project does not set another one.
  yield { ...config, serverURL: textIn(config, "serverURL") || api.url };
  for (const collection of objectsIn(config, "collections")) yield* documentsOf(api, collection);
  for (const { slug, drafts } of objectsIn(config, "globals")) {
    const path = `/api/globals/${encodeURIComponent(String(slug))}?${WHOLE}`;
    const draft = drafts === true ? await readApi(api, `${path}&draft=true`) : undefined;
    yield { global: slug, doc: await readApi(api, path), ...(draft === undefined ? {} : { draft }) };
  }
}

async function* documentsOf(api: Api, { slug, drafts }: Item): AsyncGenerator<Item> {
  const name = String(slug);
  if (OWN.test(name)) return;
  const path = `/api/${encodeURIComponent(name)}`;
  const check = pageCheck(`${api.url}${path}`);
  const draftOf = ({ id }: Item) =>
    readApi(api, `${path}/${encodeURIComponent(String(id))}?${WHOLE}&draft=true`);
  for (let page = 1; page < MOST_PAGES; page++) {
    const answer = await readApi(api, `${path}?${WHOLE}&sort=id&limit=${PAGE}&page=${page}`);
    const docs = objectsIn(answer, "docs");
    check(docs);
    for (let at = 0; at < docs.length; at += AT_ONCE) {
      const some = docs.slice(at, at + AT_ONCE);
      const newest = drafts === true ? await Promise.all(some.map(draftOf)) : [];
      for (const [index, doc] of some.entries()) {
        const draft = newest[index];
        yield { collection: name, doc, ...(draft === undefined ? {} : { draft }) };
      }
    }
    if (!isObject(answer) || answer.hasNextPage !== true) return;
  }
}
