/** Uploads files. */
import { filesOf, type UploadedFile } from "../../../shared/client/files.ts";
import { isProblem } from "../../../shared/client/problem.ts";
import { sessionEnded, transport } from "./http.ts";

/**
 * Uploads a file to an application.
 * @param onProgress called with the fraction of the file that is stored, from 0 to 1
 * @throws Problem if the platform responds with an error; TypeError if it cannot be reached
 */
export async function uploadFile(
  orb: string,
  file: File,
  onProgress: (share: number) => void,
): Promise<UploadedFile> {
  try {
    return await filesOf(transport, orb).upload(file, { onProgress });
  } catch (error) {
    if (isProblem(error) && error.status === 401) sessionEnded.value = true;
    throw error;
  }
}
