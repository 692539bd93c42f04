/** Finds names that are used twice, and names that would hide a route of the platform. */
import { clip, type Faults } from "../../kernel/faults.ts";
import {
  type HomeKey,
  hidesRealmSegment,
  homeKey,
  homeOf,
  isRealmSegment,
  isReservedModuleId,
  isSigninPage,
  LIMITS,
  type ModuleType,
  type OrbDocument,
} from "../document/index.ts";
import type { LooseDocument, Placed } from "./loose.ts";

/** @param before the current document, which the checked document would replace */
export function checkNames(document: LooseDocument, faults: Faults, before?: OrbDocument): void {
  const usesAccess = document.uses.some(({ service }) => service === "access");
  const used = before?.uses.some(({ service }) => service === "access") === true;
  const { services, shared } = checkUses(document, usesAccess, faults);
  noDuplicates(document.languages, "is listed twice", faults);
  noDuplicates(document.markets, "is listed twice", faults);

  hidesNoRoute(document, faults, before);

  const modules = new Map<string, string>();
  const homes = new Map<HomeKey, { module: string; schema: string }>();
  let fields = 0;
  for (const module of document.modules) {
    if (module.id !== undefined) {
      const path = `${module.path}/id`;
      if (modules.has(module.id)) faults.add(path, "duplicate", "is already the id of another module");
      else modules.set(module.id, path);
      const [service] = services.get(module.id) ?? [];
      const hidden = shared.get(module.id);
      if (service !== undefined || hidden !== undefined) {
        const name = service === undefined ? `${module.id}.${hidden}` : `${service}.${module.id}`;
        faults.add(path, "reserved", `would hide the route of the handler ${clip(name)}. Choose another id.`);
      } else if (
        usesAccess &&
        isRealmSegment(module.id) &&
        // Accept a module that is older than the platform's route of the same name. The module keeps its path.
        !(used && hidesRealmSegment(before, module.id))
      ) {
        // The module's path would hide the routes with which users sign out and admins manage users.
        faults.add(path, "reserved", "would hide a route of the orb's accounts. Choose another id.");
      }
    }
    const schemas = new Set<string>();
    for (const schema of module.schemas) {
      fields += schema.fields.length;
      const path = `${schema.path}/id`;
      if (schema.id !== undefined) {
        if (schemas.has(schema.id))
          faults.add(path, "duplicate", "is already the id of another schema in this module");
        else if (module.type !== undefined)
          checkHome(homes, module.type, module.id ?? "", schema.id, path, faults);
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

/** Path segments with which routes of every orb begin. A module or handler of this name takes their place. */
const HIDEABLE: Readonly<Record<string, string>> = {
  batch: "batches",
  changes: "change sets",
  editing: "forms",
  files: "files",
  mcp: "tools for agents",
  search: "searches",
  views: "saved views",
};

/**
 * Rejects names whose routes would hide other routes of the orb. Accepts them if the current document has them too: the
 * orb is older than the route or this check, and its addresses must not change.
 */
function hidesNoRoute(document: LooseDocument, faults: Faults, before: OrbDocument | undefined): void {
  const had = {
    modules: new Set(before?.modules.map(({ id }) => id)),
    schemas: new Set(before?.modules.flatMap(({ id, schemas }) => schemas.map((each) => `${id}.${each.id}`))),
    handlers: new Set(before?.uses.flatMap(({ handlers }) => handlers)),
    full: new Set(
      before?.uses.flatMap(({ service, handlers }) => handlers.map((each) => `${service}.${each}`)),
    ),
  };
  const hidden = (name: string | undefined): string | undefined =>
    name !== undefined && Object.hasOwn(HIDEABLE, name) ? HIDEABLE[name] : undefined;
  const hides = (what: string) => `would hide the orb's route for ${what}. Choose another name.`;
  const handlers = new Set<string>();
  for (const { service, handlers: used } of document.uses)
    for (const { value, path } of used) {
      handlers.add(`${service}.${value}`);
      const what = hidden(value);
      if (what !== undefined && !had.handlers.has(value)) faults.add(path, "reserved", hides(what));
    }
  for (const { id, path, schemas } of document.modules) {
    const what = hidden(id);
    if (what !== undefined && id !== undefined && !had.modules.has(id))
      faults.add(`${path}/id`, "reserved", hides(what));
    for (const schema of schemas) {
      const name = `${id}.${schema.id}`;
      if (!handlers.has(name) || (had.schemas.has(name) && had.full.has(name))) continue;
      const message = `would hide the route of the handler ${clip(name)}. Choose another id.`;
      faults.add(`${schema.path}/id`, "reserved", message);
    }
  }
}

/**
 * Rejects two schemas whose entries would be stored in the same place. Message subjects contain the module type and
 * the schema id in kebab-case, but not the module id.
 */
function checkHome(
  homes: Map<HomeKey, { module: string; schema: string }>,
  type: ModuleType,
  module: string,
  schema: string,
  path: string,
  faults: Faults,
): void {
  const home = homeOf(type, schema);
  const other = homes.get(homeKey(home));
  if (other === undefined) {
    homes.set(homeKey(home), { module, schema });
    return;
  }
  const place = `in module "${clip(other.module)}"`;
  const message =
    other.schema === schema
      ? `is already the id of a schema ${place}. Schema ids must be unique among modules of type ${type}.`
      : `must not be "${clip(schema)}", because the schema "${clip(other.schema)}" ${place} has the same name in subjects: "${clip(home.schema)}". Choose another id.`;
  faults.add(path, "duplicate", message);
}

interface Used {
  /** For each handler name, the services that have a handler of that name. */
  services: ReadonlyMap<string, string[]>;
  /**
   * Handler names that several services have. For each of these services, the name. The route of such a handler begins
   * with the name of its service.
   */
  shared: ReadonlyMap<string, string>;
}

function checkUses(document: LooseDocument, usesAccess: boolean, faults: Faults): Used {
  const listed = new Set<string>();
  const services = new Map<string, string[]>();
  for (const use of document.uses) {
    const service = use.service ?? "";
    if (use.service !== undefined && listed.has(service)) {
      faults.add(
        `${use.path}/service`,
        "duplicate",
        "is listed twice. List all handlers of a service in one place.",
      );
    }
    listed.add(service);
    noDuplicates(use.acts, "is listed twice", faults);
    for (const { value, path } of use.handlers) {
      const others = services.get(value) ?? [];
      const accounts = usesAccess && service !== "access" && isRealmSegment(value);
      if (accounts || isSigninPage(value)) {
        faults.add(
          path,
          "reserved",
          `would hide a route of ${usesAccess ? "the orb's accounts" : "the sign-in page"}. Rename the handler.`,
        );
      }
      if (others.includes(service)) faults.add(path, "duplicate", "is listed twice");
      else services.set(value, [...others, service]);
    }
  }
  const shared = new Map(
    [...services].flatMap(([handler, names]) =>
      names.length < 2 ? [] : names.map((service) => [service, handler] as const),
    ),
  );
  for (const { service, path } of document.uses) {
    const handler = shared.get(service ?? "");
    if (service === undefined || handler === undefined) continue;
    const isTaken = isReservedModuleId(service) || Object.hasOwn(HIDEABLE, service);
    if (!isTaken && !(usesAccess && isRealmSegment(service))) continue;
    const words = `begins other routes of the orb, so ${service}/${clip(handler)} cannot be a route. Another service has a handler ${clip(handler)} too: rename one of the two, or the service.`;
    faults.add(`${path}/service`, "reserved", words);
  }
  return { services, shared };
}

export function noDuplicates(names: readonly Placed[], message: string, faults: Faults): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name.value)) faults.add(name.path, "duplicate", message);
    seen.add(name.value);
  }
}
