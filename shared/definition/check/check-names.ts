/** Finds duplicate names, and names that would hide a route. */
import { clip, type Faults } from "../../kernel/faults.ts";
import { LIMITS, type OrbDocument } from "../document/document.ts";
import { hidesRealmSegment, isRealmSegment, isSigninPage } from "../document/ids.ts";
import type { LooseDocument, Placed } from "./loose.ts";

/** @param before the document that this one replaces */
export function checkNames(document: LooseDocument, faults: Faults, before?: OrbDocument): void {
  const usesAccess = document.uses.some(({ service }) => service === "access");
  const used = before?.uses.some(({ service }) => service === "access") === true;
  const handlers = checkUses(document, usesAccess, faults);
  noDuplicates(document.languages, "is listed twice", faults);
  noDuplicates(document.markets, "is listed twice", faults);

  const modules = new Map<string, string>();
  /**
   * Modules of one type must not share schema ids, because message subjects contain the module's type and not its id.
   */
  const schemasByType = new Map<string, string>();
  let fields = 0;
  for (const module of document.modules) {
    if (module.id !== undefined) {
      const path = `${module.path}/id`;
      if (modules.has(module.id)) faults.add(path, "duplicate", "is already the id of another module");
      else modules.set(module.id, path);
      const service = handlers.get(module.id);
      if (service !== undefined) {
        faults.add(
          path,
          "reserved",
          `would hide the route of the handler ${service}.${clip(module.id)}. Choose another id.`,
        );
      } else if (
        usesAccess &&
        isRealmSegment(module.id) &&
        // The route is newer than the module, and does not hide it.
        !(used && hidesRealmSegment(before, module.id))
      ) {
        // A module with this id would hide the routes for signing out and for managing users.
        faults.add(path, "reserved", "would hide a route of the orb's accounts. Choose another id.");
      }
    }
    const schemas = new Set<string>();
    for (const schema of module.schemas) {
      fields += schema.fields.length;
      const path = `${schema.path}/id`;
      if (schema.id !== undefined) {
        const key = `${module.type}/${schema.id}`;
        const other = schemasByType.get(key);
        if (schemas.has(schema.id))
          faults.add(path, "duplicate", "is already the id of another schema in this module");
        else if (module.type !== undefined && other !== undefined) {
          faults.add(
            path,
            "duplicate",
            `is already the id of a schema in module "${clip(other)}". Schema ids must be unique among modules of type ${module.type}.`,
          );
        } else schemasByType.set(key, module.id ?? "");
        schemas.add(schema.id);
      }
      const names = schema.fields.flatMap((field) =>
        field.name === undefined ? [] : [{ path: `${field.path}/name`, value: field.name }],
      );
      noDuplicates(names, "is already the name of another field in this schema", faults);
    }
  }
  if (fields > LIMITS.totalFields) {
    faults.add(
      "/modules",
      "too_many",
      `must have at most ${LIMITS.totalFields} fields in total (has ${fields})`,
    );
  }
}

function checkUses(document: LooseDocument, usesAccess: boolean, faults: Faults): Map<string, string> {
  const services = new Set<string>();
  const handlers = new Map<string, string>();
  for (const use of document.uses) {
    if (use.service !== undefined) {
      if (services.has(use.service)) {
        faults.add(
          `${use.path}/service`,
          "duplicate",
          "is listed twice. List all handlers of a service in one place.",
        );
      }
      services.add(use.service);
    }
    for (const handler of use.handlers) {
      const other = handlers.get(handler.value);
      const accounts = usesAccess && use.service !== "access" && isRealmSegment(handler.value);
      if (accounts || isSigninPage(handler.value)) {
        faults.add(
          handler.path,
          "reserved",
          `would hide a route of ${usesAccess ? "the orb's accounts" : "the sign-in page"}. Rename the handler.`,
        );
      }
      if (other !== undefined) {
        faults.add(
          handler.path,
          "duplicate",
          `has the same route as ${clip(other)}.${clip(handler.value)}. Use only one of them.`,
        );
      } else handlers.set(handler.value, use.service ?? "");
    }
  }
  return handlers;
}

function noDuplicates(names: readonly Placed[], message: string, faults: Faults): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name.value)) faults.add(name.path, "duplicate", message);
    seen.add(name.value);
  }
}
