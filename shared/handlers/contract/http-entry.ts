/** The properties that only registrations of kind `http` have. */
import { z } from "zod";
import type { Faults } from "../../kernel/faults.ts";
import { escapeSegment } from "../../kernel/faults.ts";
import { compileJsonSchema } from "../schema/index.ts";
import { HTTP_BODY_LIMIT, HTTP_PART_BYTES } from "./http-limits.ts";

export const HTTP_METHODS = ["get", "head", "post", "put", "patch", "delete", "options"] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

const text = (most: number) => z.string().max(most);
/**
 * Matches the path of a documented route. `/` is the handler's own path. A parameter such as `{id}` must be a whole
 * segment.
 */
const PATH = /^\/$|^(\/((?!\.\.?(\/|$))[A-Za-z0-9._~-]+|\{[A-Za-z][A-Za-z0-9_]{0,62}\})){1,20}$/;
const MEDIA_TYPE = /^[a-z0-9*]+\/[a-z0-9.+*-]+$/;
const STATUS = /^[2-5](\d\d|XX)$/;
const HEADER = /^[A-Za-z0-9-]{1,64}$/;
const MAX_PATHS = 50;

/**
 * Headers that no service gets: credentials, hop-by-hop headers, and what proxies say of themselves and of the client.
 * The list cannot be complete, because each proxy has its own names. So only the names in {@link ALLOWED} pass.
 */
const KEPT_BACK =
  /^(authorization|cookie2?|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-length|via|sessionid|x-original-.*|x-rewrite-url)$|^(proxy|sec|cf)-|(^|-)(forwarded|client|connecting|remote|host|ip|clientip|addr|address)(-|$)/i;
/**
 * Request headers that a service can ask for: headers of standards, those of the usual senders of webhooks, and names
 * that end like theirs. A service can also ask for names that begin with its own, such as `x-pricing-shop`.
 */
const ALLOWED = [
  /^(accept-encoding|baggage|cache-control|content-digest|content-md5|date|digest|last-event-id|link|pragma|priority|referer|repr-digest|signature|signature-input|tracestate|want-content-digest|want-repr-digest|x-api-key|x-correlation-id|x-http-method-override|x-request-id|x-signature|x-timestamp)$/,
  /^(ce|linear|paypal|stripe|svix|tus|twilio|upload|webhook|x-(discord|docusign|event|gitea|github|gitlab|goog-channel|hook|hub|shopify|slack|square|twilio|wc-webhook|zm))-/,
  /-(signature|hmac|digest)(-\w+)?$|-(timestamp|nonce|event|topic|delivery)(-id)?$/,
];

const contentSchema = z
  .record(text(100), z.strictObject({ schema: z.unknown().optional() }))
  .refine((content) => Object.keys(content).length <= 10, "must have at most 10 media types");

const operationSchema = z.strictObject({
  summary: text(200).optional(),
  description: text(2_000).optional(),
  parameters: z
    .array(
      z.strictObject({
        name: text(100).min(1),
        in: z.enum(["path", "query", "header"]),
        description: text(2_000).optional(),
        required: z.boolean().optional(),
        schema: z.unknown().optional(),
      }),
    )
    .max(30)
    .optional(),
  requestBody: z
    .strictObject({
      description: text(2_000).optional(),
      required: z.boolean().optional(),
      content: contentSchema,
    })
    .optional(),
  responses: z
    .record(z.string(), z.strictObject({ description: text(2_000), content: contentSchema.optional() }))
    .optional(),
});

const httpPathsSchema = z
  .record(text(500), z.partialRecord(z.enum(HTTP_METHODS), operationSchema))
  .refine((paths) => Object.keys(paths).length <= MAX_PATHS, `must have at most ${MAX_PATHS} paths`)
  .meta({ description: "OpenAPI path items of routes below the handler's own, which is `/`." });

/** Documented routes, by path and then by method. Paths are relative to the handler's own route. */
export type HttpPaths = z.infer<typeof httpPathsSchema>;
export type HttpOperation = z.infer<typeof operationSchema>;

export const httpMembers = {
  paths: httpPathsSchema.optional(),
  headers: z
    .array(
      z
        .string()
        .regex(HEADER, "must be the name of a header")
        .refine((name) => !KEPT_BACK.test(name), "names a header that the platform keeps back"),
    )
    .max(30)
    .optional()
    .meta({ description: "Further request headers that the service gets.", example: ["stripe-signature"] }),
  maxBodyBytes: z
    .int()
    .min(0)
    .max(HTTP_BODY_LIMIT)
    .optional()
    .meta({
      description: `Maximum bytes of a request's body (${HTTP_PART_BYTES}). A longer body than that arrives in parts.`,
    }),
};

/** The prefix `x-` belongs to no service, not even to one with the name `x`. */
const startsWithName = (header: string, service: string) =>
  service.toLowerCase() !== "x" && header.startsWith(`${service.toLowerCase()}-`);

/**
 * Reports headers that a service cannot ask for. The name of a handler gives no right to a header: a service chooses the
 * names of its handlers, so it could choose the name of another service.
 */
export function checkHeaders(names: readonly string[], service: string, faults: Faults): void {
  for (const [index, name] of names.entries()) {
    const lower = name.toLowerCase();
    const own = lower.startsWith(`x-${service.toLowerCase()}-`) || startsWithName(lower, service);
    if (own || ALLOWED.some((pattern) => pattern.test(lower))) continue;
    const example = `x-${service}-${lower.replace(/^x-/, "")}`;
    const words = `is not among the headers that pass. Use a name that begins with that of the service, such as ${example}.`;
    faults.add(`/headers/${index}`, "not_allowed", words);
  }
}

/** Reports errors in the schemas and parameters of documented routes. */
export function checkPaths(paths: HttpPaths, faults: Faults): void {
  const checkSchema = (at: string, schema: unknown) => {
    const compiled = schema === undefined ? [] : compileJsonSchema(schema as boolean);
    if (!Array.isArray(compiled)) return;
    for (const { path, code, message } of compiled) faults.add(at + path, code, message);
  };
  const checkContent = (at: string, content: z.infer<typeof contentSchema> = {}) => {
    for (const [type, { schema }] of Object.entries(content)) {
      const place = `${at}/content/${escapeSegment(type)}`;
      if (!MEDIA_TYPE.test(type)) faults.add(place, "format", "must be a media type such as text/html");
      checkSchema(`${place}/schema`, schema);
    }
  };
  const shapes = new Set<string>();
  for (const [path, item] of Object.entries(paths)) {
    const place = `/paths/${escapeSegment(path)}`;
    if (!PATH.test(path)) faults.add(place, "format", "must be / or a path such as /orders/{id}");
    // OpenAPI forbids two paths that differ only in their parameter names.
    const shape = path.replace(/\{\w+\}/g, "{}");
    if (shapes.has(shape))
      faults.add(place, "duplicate", "differs from another path only in parameter names");
    shapes.add(shape);
    const names = namesIn(path);
    if (new Set(names).size < names.length) faults.add(place, "duplicate", "names a parameter twice");
    for (const [method, operation] of Object.entries(item)) {
      const at = `${place}/${method}`;
      const known = new Set<string>();
      for (const [i, parameter] of (operation.parameters ?? []).entries()) {
        const key = `${parameter.in} ${parameter.name}`;
        if (known.has(key)) faults.add(`${at}/parameters/${i}`, "duplicate", "is listed twice");
        known.add(key);
        if (parameter.in === "path" && !names.includes(parameter.name))
          faults.add(`${at}/parameters/${i}/name`, "unknown_parameter", "is no parameter of the path");
        checkSchema(`${at}/parameters/${i}/schema`, parameter.schema);
      }
      checkContent(`${at}/requestBody`, operation.requestBody?.content);
      for (const [status, { content }] of Object.entries(operation.responses ?? {})) {
        const place = `${at}/responses/${escapeSegment(status)}`;
        if (!STATUS.test(status)) faults.add(place, "format", "must be a status such as 200 or 4XX");
        checkContent(place, content);
      }
    }
  }
}

/** Returns the parameter names in a path. */
export function namesIn(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}
