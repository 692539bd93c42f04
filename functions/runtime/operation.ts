/** What a row of the table of operations says, and what is made from it for each of the two addresses. */
import { type RouteConfig, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { EntryOperation, PlatformOperation } from "../../shared/access/credentials/index.ts";
import { type AdminPrefix, entryRoute, scopesFor, shapedRoute } from "../http/prefixes.ts";
import { defineRoute, type ProblemStatus } from "../http/router.ts";
import { jsonRequest, OrbDefinition, OrbIdParam } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import type { AddressKind, Places } from "./address.ts";
import {
  common,
  PARAMETERS,
  PATHS,
  SHOWN,
  STORED,
  storedParameters,
  storedPath,
} from "./definition-parts.ts";
import type { EntryContent, EntryRequest, ManagedRequest, OrbRequest, Taken } from "./request.ts";

type Serve<R, P> = (request: R, place: P) => Promise<Response>;

/** What may differ between the addresses of an operation. */
interface Texts {
  /** The `operationId`. */
  id: string;
  summary: string;
  description?: string | undefined;
  query: Readonly<Record<string, z.ZodType>>;
  headers?: z.ZodObject;
  body?: z.ZodType<EntryContent>;
  responses: (shown: typeof SHOWN | typeof STORED) => RouteConfig["responses"];
}

/** What differs at the address of the management API. An operation without it exists for published orbs only. */
type Managed = Partial<Texts> & { id: string; tags?: string[] };

/** A row. Two functions serve an operation, if what it reads differs between the addresses. */
export type Row<K extends AddressKind> = Texts & {
  method: "get" | "post" | "put" | "patch" | "delete";
  /** The path, if it is not the one of all operations on the kind of address. */
  path?: string;
  /** Whether the query also has filters, which depend on the schema. */
  filtered?: true;
  problems: readonly ProblemStatus[];
  /** Problems of quotas, which do not count platform admins. */
  quotas?: readonly ProblemStatus[];
} & (
    | { serve: Serve<EntryRequest, Places[K]>; managed?: Managed }
    | {
        serve: Serve<OrbRequest, Places[K]>;
        managed?: Managed & { serve: Serve<ManagedRequest, Places[K]> };
      }
  );

/** An operation at one of its addresses. */
interface Side<R> extends Taken {
  id: string;
  /** Serves a request. Before, the caller was checked for the right that the operation needs. */
  serve: Serve<R, never>;
}

/** An operation at its address in published orbs, and at the one in the management API. */
export interface Operation extends Side<OrbRequest> {
  at: AddressKind;
  /** What the caller must be allowed to do. */
  right: EntryOperation;
  method: string;
  route: RouteConfig;
  managed: (Side<ManagedRequest> & { routeAt: (prefix: AdminPrefix) => RouteConfig }) | undefined;
}

type ManagedOnly = Omit<RouteConfig, "path" | "request"> & {
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: NonNullable<RouteConfig["request"]>["body"];
  problems: readonly ProblemStatus[];
  /** Whether the header `Orb-Definition` may name the shape of the request. */
  shaped?: boolean;
  serve: (c: Context<AppEnv>) => Promise<Response>;
};

/** Returns the values that the description of an operation allows for a query parameter. Undefined: any text. */
function allowedValues(described: z.ZodType): readonly string[] | undefined {
  const schema = described instanceof z.ZodOptional ? described.unwrap() : described;
  return schema instanceof z.ZodEnum ? schema.options.map(String) : undefined;
}

/** Returns what both addresses make of the texts for one of them. */
function described({ method, filtered }: Pick<Row<AddressKind>, "method" | "filtered">, texts: Texts) {
  const { id, summary, description, query, headers = z.object({}), body } = texts;
  const parameters = new Map(Object.entries(query).map(([name, each]) => [name, allowedValues(each)]));
  return {
    taken: { id, parameters, body: body ?? z.never() },
    route: { method, operationId: id, summary, ...(description === undefined ? {} : { description }) },
    request: {
      query: filtered === true ? z.looseObject(query) : z.strictObject(query),
      headers: headers.extend(OrbDefinition.shape),
      ...(body === undefined ? {} : { body: jsonRequest(body) }),
    },
  };
}

/**
 * Describes an operation.
 * @param at what the path leads to
 * @param right what the caller must be allowed to do
 */
export function operation<K extends AddressKind>(at: K, right: EntryOperation, row: Row<K>): Operation {
  const { path = PATHS[at], problems, quotas = [], managed } = row;
  const { taken, route, request } = described(row, row);
  return {
    ...{ ...taken, at, right, method: row.method.toUpperCase(), serve: row.serve },
    route: defineRoute({
      ...{ ...route, ...common, ...scopesFor(right), path },
      request: { ...request, params: PARAMETERS[at] },
      responses: row.responses(SHOWN),
      problems: [...problems, ...quotas],
    }),
    managed: managed && managedSide(at, right, row, { ...row, ...managed }),
  };
}

function managedSide<K extends AddressKind>(
  at: K,
  right: EntryOperation,
  row: Row<K>,
  texts: Texts & { tags?: string[]; serve: Row<K>["serve"] | Serve<ManagedRequest, Places[K]> },
): NonNullable<Operation["managed"]> {
  const { tags, responses } = texts;
  const { taken, route, request } = described(row, texts);
  return {
    ...taken,
    // A row without a function of its own for this address has one that serves both.
    serve: texts.serve as Serve<ManagedRequest, never>,
    routeAt: (prefix) =>
      defineRoute({
        ...{ ...shapedRoute(prefix, right), ...(tags === undefined ? {} : { tags }), ...route },
        path: storedPath(prefix, row.path ?? PATHS[at]),
        request: { ...request, params: storedParameters(at) },
        responses: responses(STORED),
        problems: row.problems,
      }),
  };
}

/** Describes an operation that only the management API has. @param path the path below the orb */
export function managedOperation(
  right: EntryOperation | PlatformOperation,
  path: string,
  { serve, shaped = false, query = z.strictObject({}), headers, body, ...texts }: ManagedOnly,
) {
  const routeOf = shaped ? shapedRoute : entryRoute;
  const request = { params: OrbIdParam, query, ...(headers && { headers }), ...(body && { body }) };
  return {
    serve,
    routeAt: (prefix: AdminPrefix) =>
      defineRoute({ ...routeOf(prefix, right), ...texts, path: `${prefix}/{orbId}${path}`, request }),
  };
}
