/** Cross-checks of names: what may not be said twice, and what would hide what else. */
import { LIMITS } from "./document.ts";
import { clip, type Faults } from "./faults.ts";
import { isRealmSegment, isSigninPage } from "./ids.ts";
import type { LooseDocument, Placed } from "./loose.ts";

/** Tells every name of a document that collides with another. */
export function checkNames(document: LooseDocument, faults: Faults): void {
  const usesAccess = document.uses.some(({ service }) => service === "access");
  const handlers = checkUses(document, usesAccess, faults);
  noDuplicates(document.languages, "This language is listed twice.", faults);
  noDuplicates(document.markets, "This market is listed twice.", faults);

  const modules = new Map<string, string>();
  /** Storage knows a schema by its module's type and its own id. */
  const schemasByType = new Map<string, string>();
  let fields = 0;
  for (const module of document.modules) {
    if (module.id !== undefined) {
      const path = `${module.path}/id`;
      if (modules.has(module.id))
        faults.add(path, "duplicate", `There are two modules "${clip(module.id)}".`);
      else modules.set(module.id, path);
      const service = handlers.get(module.id);
      if (service !== undefined) {
        faults.add(
          path,
          "reserved",
          `The handler ${service}.${clip(module.id)} of this orb has this route already.`,
        );
      } else if (usesAccess && isRealmSegment(module.id)) {
        // It would hide how users sign out, and how they are managed.
        faults.add(path, "reserved", `The route "${clip(module.id)}" belongs to the orb's accounts.`);
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
          faults.add(path, "duplicate", `There are two schemas "${clip(schema.id)}" in this module.`);
        else if (module.type !== undefined && other !== undefined) {
          faults.add(
            path,
            "duplicate",
            `Module "${clip(other)}" has a schema of this id too: schema ids are unique among the modules of type ${module.type}.`,
          );
        } else schemasByType.set(key, module.id ?? "");
        schemas.add(schema.id);
      }
      const names = schema.fields.flatMap((field) =>
        field.name === undefined ? [] : [{ path: `${field.path}/name`, value: field.name }],
      );
      noDuplicates(names, "There are two fields of this name.", faults);
    }
  }
  if (fields > LIMITS.totalFields) {
    faults.add(
      "/modules",
      "too_many",
      `A document has at most ${LIMITS.totalFields} fields in all; this one has ${fields}.`,
    );
  }
}

/** Checks `uses`; answers which service gives the handler of each name. */
function checkUses(document: LooseDocument, usesAccess: boolean, faults: Faults): Map<string, string> {
  const services = new Set<string>();
  const handlers = new Map<string, string>();
  for (const use of document.uses) {
    if (use.service !== undefined) {
      if (services.has(use.service)) {
        faults.add(
          `${use.path}/service`,
          "duplicate",
          `Service "${clip(use.service)}" is used twice: list its handlers in one place.`,
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
          `The route "${clip(handler.value)}" belongs to ${usesAccess ? "the orb's accounts" : "the sign-in page"}.`,
        );
      }
      if (other !== undefined) {
        faults.add(
          handler.path,
          "duplicate",
          `The route of this handler belongs to ${clip(other)}.${clip(handler.value)} already.`,
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
