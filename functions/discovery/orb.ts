/** Creates the OpenAPI description of one published orb (application) from the routes that all orbs have. */
import { cookieName } from "../../shared/access/authenticate.ts";
import { orbRealm } from "../../shared/access/realms.ts";
import { listsNames } from "../../shared/definition/describe.ts";
import { accessHandler, hidesRealmSegment, isSigninPage } from "../../shared/definition/document/ids.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import type { Config } from "../../shared/deps.ts";
import { HTTP_HANDLERS } from "../../shared/handlers/contract/http.ts";
import { bothForms, entriesPath, hidesMcp, MCP_SEGMENT } from "../../shared/orb/routes.ts";
import { describeHandlers, type Handlers } from "./calls.ts";
import {
  type ApiDocument,
  type Method,
  namePart,
  type Operation,
  operationsOf,
  resolvedParameter,
} from "./document.ts";
import { entriesTag, entryOperation } from "./entry-operations.ts";
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
    }
  }
  const further = [
    ...(live.compiled.handlers.size === 0 ? [] : [["handlers", "Handlers of services."]]),
    ["agents", "Tools of the Model Context Protocol."],
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
  for (const [subject, description = ""] of further)
    part.tags.push({ name: `${live.orb}: ${subject}`, description });
  for (const { path, method, operation } of operationsOf(generic.paths)) {
    if (path.startsWith(COLLECTION)) {
      for (const schema of modules.flatMap((module) => [...module.schemas.values()])) {
        const tail = path.slice(COLLECTION.length);
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
      const described = (name: string) => ({
        ...operation,
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

function isServed(live: LiveOrb, path: string): boolean {
  const tail = path.slice("/api/{orbId}".length);
  if (tail === "/signin") return true;
  if (tail === `/${MCP_SEGMENT}`) return !hidesMcp(live.compiled);
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
