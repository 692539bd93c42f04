/** Creates the OpenAPI description of one published orb (application) from the routes that all orbs have. */
import { cookieName } from "../../shared/access/authenticate.ts";
import { GRANTED_ROLES, orbRealm } from "../../shared/access/realms.ts";
import { keyFields } from "../../shared/definition/compile.ts";
import { listsNames } from "../../shared/definition/describe.ts";
import { accessHandler, hidesRealmSegment, isSigninPage } from "../../shared/definition/document/index.ts";
import type { Json, JsonSchema } from "../../shared/definition/fields/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import type { Config } from "../../shared/deps.ts";
import { HTTP_HANDLERS } from "../../shared/handlers/contract/index.ts";
import { isObject } from "../../shared/kernel/json.ts";
import {
  BATCH_SEGMENT,
  bothForms,
  CHANGES_SEGMENT,
  EDITING_SEGMENT,
  entriesPath,
  hasEntryRoutes,
  hidesBatch,
  hidesChanges,
  hidesEditing,
  hidesMcp,
  hidesSearch,
  hidesViews,
  MCP_SEGMENT,
  PREVIEWS_SEGMENT,
  SEARCH_SEGMENT,
  VIEWS_SEGMENT,
} from "../../shared/orb/routes.ts";
import { PATHS } from "../runtime/definition-parts.ts";
import { describeHandlers, type Handlers } from "./calls.ts";
import {
  type ApiDocument,
  type Method,
  namePart,
  type Operation,
  operationsOf,
  ref,
  resolvedParameter,
} from "./document.ts";
import { entriesTag, entryOperation, keyedTag } from "./entry-operations.ts";
import { COLLECTION, type Generic, type Making, type OrbPart, textOf } from "./entry-schemas.ts";

/** @param generic OpenAPI document of the routes that all applications have */
export function describeOrb(
  generic: Generic,
  live: LiveOrb,
  handlers: Handlers,
  config: Pick<Config, "publicUrl">,
): OrbPart {
  const { document } = live;
  const all = [...live.compiled.modules.values()].flatMap(({ schemas }) => [...schemas.values()]);
  const part: Making = {
    named: listsNames(all),
    tags: [],
    paths: {},
    schemas: {},
    securitySchemes: {},
  };
  const realm = orbRealm(document);
  const restricted = roleNames(generic, live, part);
  const cookie = realm === null ? "cookie" : `cookie.${live.orb}`;
  if (realm !== null) {
    part.securitySchemes[cookie] = {
      type: "apiKey",
      in: "cookie",
      name: cookieName(config, realm.name),
      description: `Session of the users of ${live.orb}`,
    };
  }
  const add = (path: string, method: Method, operation: Operation) => {
    part.paths[path] ??= {};
    part.paths[path][method] = ownParameters(generic, operation, cookie);
  };
  const modules = [...live.compiled.modules.values()].filter((module) => module.routed);
  for (const module of modules) {
    for (const schema of module.schemas.values()) {
      const { name, description } = schema.definition;
      const about =
        textOf(name, description) || textOf(module.definition.name, module.definition.description);
      part.tags.push({ name: entriesTag(live, schema), description: about });
      if (keyFields(schema).length > 0)
        part.tags.push({ name: keyedTag(live, schema), description: "Entries by a unique value." });
    }
  }
  for (const [subject, description = ""] of furtherTags(live))
    part.tags.push({ name: `${live.orb}: ${subject}`, description });
  for (const { path, method, operation } of operationsOf(generic.paths)) {
    if (path.startsWith(COLLECTION)) {
      for (const schema of modules.flatMap((module) => [...module.schemas.values()])) {
        const tail = path.slice(COLLECTION.length);
        if (path === PATHS.keyed && keyFields(schema).length === 0) continue;
        add(
          entriesPath(live.compiled, schema) + tail,
          method,
          entryOperation(generic, live, schema, operation, part),
        );
      }
    } else if (path.includes("{handler}")) {
      describeHandlers(live, handlers, { method, operation }, part, add);
    } else if (isServed(live, path)) {
      const tail = path.slice("/api/{orbId}".length);
      const [short, long] = bothForms(live.orb, tail);
      const own = restricted(operation);
      const described = (name: string) => ({
        ...own,
        operationId: `${name}_${namePart(live.orb)}`,
        tags: operation.tags.map((subject) => `${live.orb}: ${subject}`),
      });
      add(short, method, described(operation.operationId));
      if (accessHandler(tail.split("/")[1] ?? "") !== undefined)
        add(long, method, described(`${operation.operationId}Called`));
    }
  }
  return part;
}

/** Returns the subjects of the operations that are not on the entries of one schema, each with a description. */
function furtherTags(live: LiveOrb): string[][] {
  const realm = orbRealm(live.document);
  return [
    ...(live.compiled.handlers.size === 0 ? [] : [["handlers", "Handlers of services."]]),
    ["agents", "Tools of the Model Context Protocol."],
    ...(hasBatch(live) ? [["batches", "Several entries in one request."]] : []),
    ...(hasSearch(live) ? [["searches", "Entries of all schemas, by their words."]] : []),
    ...(hasChanges(live)
      ? [
          ["change sets", "Changes of many entries that are published together."],
          ["change sets, review", "Approvals, rejections and comments."],
        ]
      : []),
    ...(hasViews(live) ? [["saved views", "Saved views of lists."]] : []),
    ...(hasPreviews(live) ? [["previews", "Links to pages of a site that show drafts."]] : []),
    ...(hasEditing(live) ? [["forms", "Unsaved changes of a person, and who edits an entry."]] : []),
    ["sign-in", realm === null ? "The sign-in page." : "Registration and sign-in."],
    ...(realm === null ? [] : [["own account", "Account and passkeys of the signed-in user."]]),
    ...(realm?.handlers.has("passkey") === true
      ? [["recovery", "Recovery of users who lost their passkeys."]]
      : []),
    ...(realm?.handlers.has("invitations") === true || realm?.handlers.has("bootstrap") === true
      ? [["invitations", "Invitations of the orb's users."]]
      : []),
    ...(realm?.handlers.has("passkey") === true ? [["users", "Users of the orb."]] : []),
  ];
}

/** Schemas in which a role can be one that the orb had earlier, such as that of an expired invitation. */
const WITH_EARLIER_ROLES: readonly string[] = ["Invitation", "InvitationState"];

/** Returns a function that restricts the roles in an operation to those that accounts of the orb can have. */
function roleNames(generic: Generic, live: LiveOrb, part: Making): (operation: Operation) => Operation {
  const roles = [...GRANTED_ROLES, ...live.compiled.roles.keys()];
  const own = new Map<string, string>();
  const inAny = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(inAny);
    return isObject(node) ? within(node as JsonSchema) : node;
  };
  const within = (node: JsonSchema): JsonSchema => {
    const name = String(node.$ref ?? "").replace("#/components/schemas/", "");
    const shared = generic.components.schemas[name];
    if (shared === undefined || WITH_EARLIER_ROLES.includes(name))
      return Object.fromEntries(
        Object.entries(node).map(([key, value]) => [
          key,
          key === "role" && isObject(value) && value.type === "string"
            ? { ...(value as JsonSchema), enum: roles }
            : inAny(value),
        ]),
      );
    // A schema that refers to itself stays the shared one.
    const known = own.get(name) ?? name;
    if (own.has(name)) return ref(known);
    own.set(name, name);
    const narrowed = within(shared);
    if (JSON.stringify(narrowed) === JSON.stringify(shared)) return node;
    own.set(name, `${live.orb}.${name}`);
    part.schemas[`${live.orb}.${name}`] = narrowed;
    return ref(`${live.orb}.${name}`);
  };
  return ({ parameters, requestBody, responses, ...operation }) => ({
    ...operation,
    ...(parameters === undefined
      ? {}
      : {
          parameters: parameters.map((given) => {
            const { schema, ...parameter } = resolvedParameter(generic, given);
            const isRole = parameter.name === "filter[role]";
            return isRole ? { ...parameter, schema: { ...(schema as JsonSchema), enum: roles } } : given;
          }),
        }),
    ...(requestBody === undefined ? {} : { requestBody: within(requestBody) }),
    responses: within(responses) as Operation["responses"],
  });
}

/** Returns whether the application has the route that writes several entries at once. */
function hasBatch({ compiled }: LiveOrb): boolean {
  return !hidesBatch(compiled) && hasEntryRoutes(compiled);
}

/** Returns whether the application has the route that searches all schemas. */
function hasSearch({ compiled }: LiveOrb): boolean {
  return !hidesSearch(compiled) && hasEntryRoutes(compiled);
}

/** Returns whether the application has the routes for change sets. */
function hasChanges({ compiled }: LiveOrb): boolean {
  return !hidesChanges(compiled) && hasEntryRoutes(compiled);
}

/** Returns whether a site shows entries of the application. */
function hasPreviews({ compiled }: LiveOrb): boolean {
  const schemas = [...compiled.modules.values()].flatMap((module) => [...module.schemas.values()]);
  return schemas.some(({ definition }) => definition.preview !== undefined);
}

/** Returns whether the application has the routes for forms. */
function hasEditing({ compiled }: LiveOrb): boolean {
  return !hidesEditing(compiled) && hasEntryRoutes(compiled);
}

/** Returns whether the application has the routes for saved views. */
function hasViews({ compiled }: LiveOrb): boolean {
  return !hidesViews(compiled) && hasEntryRoutes(compiled);
}

function isServed(live: LiveOrb, path: string): boolean {
  const tail = path.slice("/api/{orbId}".length);
  if (tail === "/signin") return true;
  if (tail === `/${MCP_SEGMENT}`) return !hidesMcp(live.compiled);
  if (tail === `/${BATCH_SEGMENT}`) return hasBatch(live);
  if (tail === `/${SEARCH_SEGMENT}`) return hasSearch(live);
  if (tail.split("/")[1] === CHANGES_SEGMENT) return hasChanges(live);
  if (tail.split("/")[1] === PREVIEWS_SEGMENT) return hasPreviews(live);
  if (tail.split("/")[1] === EDITING_SEGMENT) return hasEditing(live);
  if (tail.split("/")[1] === VIEWS_SEGMENT) return hasViews(live);
  const realm = orbRealm(live.document);
  const segment = tail.split("/")[1] ?? "";
  if (isSigninPage(segment)) return realm !== null;
  if (realm === null || hidesRealmSegment(live.document, segment)) return false;
  const handler = HTTP_HANDLERS.find(({ paths }) =>
    (paths as readonly string[]).some((known) => known.split("/")[1] === segment),
  );
  return handler !== undefined && realm.handlers.has(handler.name.slice("access.".length));
}

function ownParameters(
  generic: Pick<ApiDocument, "components">,
  operation: Operation,
  cookie: string,
): Operation {
  const own = (operation.parameters ?? []).filter((parameter) => {
    const { name, in: place } = resolvedParameter(generic, parameter);
    return place !== "path" || !["orbId", "moduleId", "schemaId", "handler"].includes(name);
  });
  const { parameters: _, ...rest } = operation;
  return {
    ...rest,
    ...(own.length === 0 ? {} : { parameters: own }),
    security: operation.security.map((each) =>
      Object.fromEntries(Object.entries(each).map(([key, of]) => [key === "cookie" ? cookie : key, of])),
    ),
  };
}
