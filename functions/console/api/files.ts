/** Uploads files. */
import { Problem } from "../../../shared/client/problem.ts";
import { pathOf, sessionEnded } from "./http.ts";

export interface UploadedFile {
  id: string;
  size: number;
  type: string;
  name: string;
}

/**
 * Uploads a file of an orb.
 * @param onProgress receives the share that was sent, from 0 to 1
 * @throws Problem if the platform responds with an error; TypeError if it cannot be reached
 */
export function uploadFile(
  orb: string,
  file: File,
  onProgress: (share: number) => void,
): Promise<UploadedFile> {
  return new Promise((resolve, reject) => {
    // Only XMLHttpRequest reports the progress of an upload.
    const request = new XMLHttpRequest();
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    request.onerror = () => reject(new TypeError("the upload broke off"));
    request.onload = () => {
      const { status } = request;
      if (status === 201) return resolve(JSON.parse(request.responseText) as UploadedFile);
      if (status === 401) sessionEnded.value = true;
      const isJson = request.getResponseHeader("content-type")?.includes("json") === true;
      const body = isJson ? (JSON.parse(request.responseText) as Record<string, unknown>) : {};
      reject(new Problem(status, body, request.getResponseHeader("x-request-id")));
    };
    request.open("POST", `${pathOf("api", orb, "files")}?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("content-type", file.type === "" ? "application/octet-stream" : file.type);
    request.send(file);
  });
}
