/** Continues uploads in parts that the end of an earlier run has interrupted. */
import { isProblem } from "../../../../shared/client/problem.ts";
import type { Transport } from "../../../../shared/client/transport.ts";

/** The last part of the path of an upload. */
const UPLOAD = /\/uploads\/([\w-]+)$/;

/**
 * Returns a transport for the upload of one content. It does not begin an upload that an earlier run has begun, if the
 * platform still has it.
 * @param upload.begun id of the earlier upload
 * @param upload.keep called with the id of an upload that begins
 */
export function continuing(
  transport: Transport,
  size: number,
  upload: { begun: string | undefined; keep: (id: string) => void },
): Transport {
  const { begun, keep } = upload;
  return {
    ...transport,
    async send(request) {
      const { method, path, headers = {}, signal } = request;
      if (method !== "POST" || !path.endsWith("/uploads")) return transport.send(request);
      const before = begun === undefined ? undefined : `${path}/${begun}`;
      if (before !== undefined) {
        const { "upload-length": _, "upload-metadata": __, ...others } = headers;
        const asked = { method: "HEAD", path: before, headers: others, signal, repeat: "safe" } as const;
        const found = await transport.send(asked).catch((error: unknown) => {
          if (isProblem(error) && (error.status === 404 || error.status === 410)) return undefined;
          throw error;
        });
        if (found?.headers.get("upload-length") === String(size)) {
          const state = new Headers(found.headers);
          state.set("location", before);
          return new Response(null, { status: 201, headers: state });
        }
      }
      const response = await transport.send(request);
      const id = UPLOAD.exec(response.headers.get("location") ?? "")?.[1];
      if (id !== undefined) keep(id);
      return response;
    },
  };
}
