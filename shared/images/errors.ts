import { AppError } from "../kernel/errors.ts";

/** Creates a 422 error for an image from which no smaller or converted copy can ever be made. */
export function badImage(code: string, detail: string): AppError {
  return new AppError("invalid", code, detail);
}

/** Codes of {@link badImage}. */
export const BAD_IMAGE: readonly string[] = ["image_unreadable", "image_too_large", "image_unsupported"];

export function imagesBusy(cause?: unknown): AppError {
  const detail = "The image is not ready, because others are being made. Try again in a few seconds.";
  return new AppError("unavailable", "images_busy", detail, { retryAfter: 3, cause });
}

/**
 * Creates a 503 error for an image during which the worker crashed. The image may be the cause, so clients must wait
 * before they try again.
 */
export function imagesFailed(cause: unknown): AppError {
  const detail = "The image could not be made in time. Try again in a minute, or upload a smaller one.";
  return new AppError("unavailable", "images_failed", detail, { retryAfter: 30, cause });
}

export function noImages(): AppError {
  const detail =
    "This deployment makes no variants of images. Deploy the image worker, or request the original.";
  return new AppError("unavailable", "images_not_deployed", detail);
}
