/** Documents of orbs for tests, and functions that return their validation errors. */
import { expect } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { AppError, type Fault } from "../../shared/kernel/errors.ts";

/** A part of a document, valid or not. */
export type Bag = Record<string, unknown>;

/** Returns a document's errors as `path code`. */
export function faults(document: unknown): string[] {
  return faultsOf(document).map((fault) => `${fault.path} ${fault.code}`);
}

/** Returns the validation errors of a document. */
export function faultsOf(document: unknown): Fault[] {
  try {
    checkDocument(document);
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.kind).toBe("invalid");
    for (const fault of error.errors ?? []) expect(fault.message).not.toBe("");
    return error.errors ?? [];
  }
}

/** Returns a document with one schema of these fields. */
export function withFields(fields: unknown[], more: Bag = {}, module: Bag = {}): Bag {
  return {
    id: "shop",
    modules: [{ id: "catalog", type: "CONTENT", schemas: [{ id: "product", fields }], ...module }],
    ...more,
  };
}
