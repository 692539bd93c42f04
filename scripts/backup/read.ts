/** Reads a backup from its folder, and verifies it before use. */
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { Failure, systemCode } from "../process/failure.ts";
import { MANIFEST, type Manifest, manifestSchema, type SavedStream } from "./format.ts";
import { SIGNATURE, verify } from "./signature.ts";

const PIECE = 1024 * 1024;
/** Maximum bytes of a manifest. A manifest needs about a kilobyte per stream. */
const MANIFEST_LIMIT = 256 * 1024 * 1024;

/** Opens a file of the backup. Rejects symbolic links, because a link could point to a file outside the folder. */
function openOwn(folder: string, file: string): number {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const opened = openSync(join(folder, file), flags);
  if (fstatSync(opened).isFile()) return opened;
  closeSync(opened);
  throw new Error("it is not a file");
}

function readOwn(folder: string, file: string): Buffer | undefined {
  let opened: number;
  try {
    opened = openOwn(folder, file);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    const words = error instanceof Error ? error.message : String(error);
    throw new Failure(`${file} in ${folder} cannot be read (${words}). Use another copy of the backup.`);
  }
  try {
    if (fstatSync(opened).size > MANIFEST_LIMIT)
      throw new Failure(`${file} in ${folder} is too large for a backup. Use another copy.`);
    return readFileSync(opened);
  } finally {
    closeSync(opened);
  }
}

export interface Read {
  manifest: Manifest;
  bytes: Uint8Array;
}

/** Reads a backup's manifest, and checks that its files exist. */
export function readManifest(folder: string): Read {
  const bytes = readOwn(folder, MANIFEST) ?? Buffer.of();
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new Failure(
      `${folder} contains no complete backup: ${MANIFEST} is missing or damaged. Choose another folder.`,
    );
  }
  if (value !== null && typeof value === "object" && "v" in value && value.v !== 1)
    throw new Failure(
      `The backup in ${folder} was made by a newer version of the platform. Update this program first.`,
    );
  const parsed = manifestSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Failure(
      `${MANIFEST} in ${folder} is damaged: /${issue?.path.join("/") ?? ""}: ${issue?.message ?? ""}. Use another copy of the backup.`,
    );
  }
  for (const stream of parsed.data.streams) closeSync(openSnapshot(folder, stream));
  return { manifest: parsed.data, bytes };
}

/**
 * Checks the signature of a backup.
 * @param unsigned whether to accept a backup whose signature is missing, or was made with an unknown key. A wrong
 *   signature is always an error.
 */
export function requireAuthentic(
  folder: string,
  { bytes }: Read,
  encryptionKeys: string,
  unsigned: boolean,
): void {
  const signature = readOwn(folder, SIGNATURE)?.toString("utf8");
  const judged = signature === undefined ? "missing" : verify(encryptionKeys, bytes, signature);
  if (judged === "forged")
    throw new Failure(
      `${MANIFEST} in ${folder} was changed after the backup: its signature does not match. Use another copy.`,
    );
  if (judged === "valid" || unsigned) return;
  const reason =
    judged === "missing"
      ? `The backup in ${folder} is not signed: it was taken by an older version, or ${SIGNATURE} was removed.`
      : `The backup in ${folder} is signed with a key that is not among this platform's ENCRYPTION_KEYS.`;
  throw new Failure(
    `${reason} Anyone who can write to that folder may have changed accounts and data in it. If you trust it, add --unsigned.`,
  );
}

function openSnapshot(folder: string, { file }: SavedStream): number {
  try {
    return openOwn(folder, file);
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new Failure(
      `The backup in ${folder} is incomplete: ${file} cannot be read (${words}). Use another copy of the backup.`,
    );
  }
}

/**
 * Verifies the size and the checksum of a snapshot.
 * @param into folder for a copy of exactly the bytes that were verified
 */
export function checkSnapshot(folder: string, stream: SavedStream, into?: string): void {
  const { file, bytes } = stream;
  const from = openSnapshot(folder, stream);
  try {
    const { size } = fstatSync(from);
    if (size !== bytes)
      throw new Failure(
        `${file} is damaged: it has ${size} bytes instead of ${bytes}. Use another copy of the backup.`,
      );
    if (into === undefined) {
      compare(stream, from, () => undefined);
      return;
    }
    const to = openSync(join(into, file), "w", 0o600);
    try {
      compare(stream, from, (piece) => {
        for (let done = 0; done < piece.length; ) done += writeSync(to, piece, done);
      });
      fsyncSync(to);
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}

function compare({ file, sha256 }: SavedStream, from: number, take: (piece: Uint8Array) => void): void {
  const hash = createHash("sha256");
  const buffer = new Uint8Array(PIECE);
  for (let length = readSync(from, buffer); length > 0; length = readSync(from, buffer)) {
    const piece = buffer.subarray(0, length);
    hash.update(piece);
    take(piece);
  }
  if (hash.digest("hex") !== sha256)
    throw new Failure(
      `${file} is damaged: its checksum does not match the manifest. Use another copy of the backup.`,
    );
}
