import type { Context } from "hono";
import { AppError, notFound } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";

/**
 * Responds with a file of the host: 200 with its content, or 304 if the client has the same version.
 * @param contents name of the files that the host must provide, for the error message
 */
export async function hostFile(
  c: Context<AppEnv>,
  { path, contents, headers }: { path: string; contents: string; headers: Record<string, string> },
): Promise<Response> {
  const found = await c.var.host.assets?.(path, c.req.header("if-none-match"));
  if (found === undefined) {
    throw new AppError(
      "not_found",
      "file_not_found",
      `This server has no files for this page. Check that its host provides ${contents}.`,
    );
  }
  const tag = found.headers.get("etag");
  const sent = tag === null ? headers : { ...headers, etag: tag };
  if (found.status === 304) return c.body(null, 304, sent);
  if (found.status !== 200) {
    await found.body?.cancel();
    throw notFound("file");
  }
  return c.newResponse(found.body, 200, sent);
}
