/** Creates the OpenAPI description of one published orb (application) from the routes that all orbs have. */
import { cookieName } from "../../shared/access/authenticate.ts";
import { orbRealm } from "../../shared/access/realms.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { exampleValues, listsNames, valuesSchema } from "../../shared/definition/describe.ts";
import { accessHandler, hidesRealmSegment } from "../../shared/definition/document/ids.ts";
import type { Json, JsonSchema } from "../../shared/definition/fields/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import type { Config } from "../../shared/deps.ts";
import { HTTP_HANDLERS } from "../../shared/handlers/contract/http.ts";
import { bothForms, entriesPath, hidesMcp, MCP_SEGMENT } from "../../shared/orb/routes.ts";
import { definitions } from "../runtime/definitions.ts";
import { describeHandlers, type Handlers } from "./calls.ts";
import {
  type ApiDocument,
  type Method,
  namePart,
  type Operation,
  operationsOf,
  type Parameter,
  ref,
} from "./document.ts";
import { filterParameter } from "./filters.ts";
import { requiredRole, securityFor } from "./roles.ts";

export interface OrbPart {
  tags: ApiDocument["tags"];
  paths: ApiDocument["paths"];
  schemas: { [name: string]: JsonSchema };
  securitySchemes: { [name: string]: Json };
}

interface Making extends OrbPart {
  /** Whether the OpenAPI schemas list every language and market. */
  named: boolean;
}

const COLLECTION = definitions.list.path;

/** @param generic OpenAPI document of the routes that all orbs have */
export function describeOrb(
  generic: Pick<ApiDocument, "paths" | "components">,
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

/** Returns the OpenAPI tag of a collection, which is its path without `/api/`. */
const entriesTag = ({ compiled }: LiveOrb, schema: CompiledSchema) =>
  entriesPath(compiled, schema).replace("/api/", "");

function textOf(...texts: (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join(": ");
}

function isServed(live: LiveOrb, path: string): boolean {
  const tail = path.slice("/api/{orbId}".length);
  if (tail === "/signin") return true;
  if (tail === `/${MCP_SEGMENT}`) return !hidesMcp(live.compiled);
  const realm = orbRealm(live.document);
  const segment = tail.split("/")[1] ?? "";
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
    const shared = String(Reflect.get(parameter, "$ref") ?? "").replace("#/components/parameters/", "");
    const { name, in: place } = (generic.components.parameters[shared] ?? parameter) as Parameter;
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

function contentSchema(node: Json | undefined): JsonSchema | undefined {
  const content = Reflect.get(Object(node), "content") as
    | { [type: string]: { schema?: JsonSchema } }
    | undefined;
  return content?.["application/json"]?.schema;
}

/** Resolves a `$ref` and merges the schemas that its target extends with `allOf`. */
function resolved(generic: Pick<ApiDocument, "components">, schema: JsonSchema | undefined): JsonSchema {
  const name = String(schema?.$ref ?? "").replace("#/components/schemas/", "");
  const found = generic.components.schemas[name] ?? schema ?? {};
  const { allOf, ...rest } = found;
  if (!Array.isArray(allOf)) return found;
  const parts = [...(allOf as JsonSchema[]).map((part) => resolved(generic, part)), rest];
  const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {})) as JsonSchema;
  const required = [...new Set(parts.flatMap((part) => (part.required as string[] | undefined) ?? []))];
  return { ...Object.assign({}, ...parts), properties, required };
}

function withMembers(schema: JsonSchema, members: { [name: string]: JsonSchema }): JsonSchema {
  const { properties } = schema as { properties?: { [name: string]: JsonSchema } };
  return { ...schema, properties: { ...properties, ...members } };
}

function entrySchemas(
  generic: Pick<ApiDocument, "components" | "paths">,
  live: LiveOrb,
  schema: CompiledSchema,
  part: Making,
) {
  const base = `${live.orb}.${schema.module}.${schema.id}`;
  const names = {
    entry: base,
    list: `${base}.List`,
    values: `${base}.Values`,
    create: `${base}.New`,
    update: `${base}.Change`,
  };
  if (part.schemas[base] !== undefined) return names;
  const collection = generic.paths[COLLECTION];
  const created = collection?.post;
  const listed = collection?.get;
  const entry = resolved(generic, contentSchema(created?.responses["201"]));
  const body = resolved(generic, contentSchema(created?.requestBody));
  const list = resolved(generic, contentSchema(listed?.responses["200"]));
  const { name, description } = schema.definition;
  const about = textOf(name, description);
  const only = (value: string): JsonSchema => ({ type: "string", enum: [value] });
  part.schemas[names.values] = valuesSchema(schema, "answer", false, part.named);
  part.schemas[names.entry] = {
    ...withMembers(entry, {
      orb: only(live.orb),
      module: only(schema.module),
      schema: only(schema.id),
      values: ref(names.values),
    }),
    ...(about === "" ? {} : { description: about }),
  };
  part.schemas[names.list] = withMembers(list, { items: { type: "array", items: ref(names.entry) } });
  part.schemas[names.create] = withMembers(body, { values: valuesSchema(schema, "input", true, part.named) });
  const change = generic.paths[`${COLLECTION}/{id}`]?.put?.requestBody;
  part.schemas[names.update] = withMembers(resolved(generic, contentSchema(change)), {
    values: valuesSchema(schema, "input", false, part.named),
  });
  return names;
}

function entryOperation(
  generic: Pick<ApiDocument, "components" | "paths">,
  live: LiveOrb,
  schema: CompiledSchema,
  operation: Operation,
  part: Making,
): Operation {
  const names = entrySchemas(generic, live, schema, part);
  const { text, role } = requiredRole(schema, operation.operationId);
  const isList = operation.operationId === definitions.list.operationId;
  const answers = Object.entries(operation.responses).map(([status, response]) => {
    if (contentSchema(response) === undefined) return [status, response] as const;
    const content = { "application/json": { schema: ref(isList ? names.list : names.entry) } };
    return [status, { ...response, content }] as const;
  });
  const example =
    operation.operationId === definitions.create.operationId ? exampleValues(schema) : undefined;
  const sent = operation.operationId === definitions.create.operationId ? names.create : names.update;
  const { requestBody } = operation;
  const parameters: (Parameter | { $ref: string })[] = [...(operation.parameters ?? [])];
  if (isList) parameters.push(filterParameter(schema));
  const title = schema.definition.name ?? `${schema.module}/${schema.id}`;
  return {
    ...operation,
    operationId: `${operation.operationId}_${namePart(live.orb)}_${schema.module}_${schema.id}`,
    summary: `${operation.summary} (${title})`,
    description: [operation.description, text].filter(Boolean).join(" "),
    tags: [entriesTag(live, schema)],
    security: securityFor(role, operation.security),
    parameters,
    ...(requestBody === undefined
      ? {}
      : {
          requestBody: {
            ...requestBody,
            content: {
              "application/json": {
                schema: ref(sent),
                ...(example === undefined ? {} : { example: { values: example } }),
              },
            },
          },
        }),
    responses: Object.fromEntries(answers),
    "x-role": role,
  };
}
