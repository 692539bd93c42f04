/**
 * The server side of the Model Context Protocol over HTTP, without sessions. It supports only tools, and one message
 * per request. The official library has more features, but would add 60 KiB to the bundle.
 */
import { OpenAPIHono, z } from "@hono/zod-openapi";
import { faultsOf } from "../http/problem.ts";

/** Protocol versions in which a client sends `initialize` first. The newest version comes first. */
const HANDSHAKE_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const;
/**
 * The MCP version in which clients do not send `initialize`. Instead, each request states the version, and repeats
 * parts of its message in headers.
 */
const STATELESS_VERSION = "2026-07-28";
const META = "io.modelcontextprotocol/";

const Code = {
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

const params = z.looseObject({
  _meta: z.record(z.string(), z.unknown()).optional(),
  protocolVersion: z.unknown().optional(),
  name: z.unknown().optional(),
  arguments: z.record(z.string(), z.unknown()).optional(),
});

type Params = z.infer<typeof params>;

export interface Message {
  method: string;
  /** Missing for a notification. */
  id?: string | number | undefined;
  params?: Record<string, unknown> | undefined;
}

/** A part of a result. The data of an image is base64. */
export type ToolContent = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

export interface ToolResult {
  content: ToolContent[];
  isError?: true;
}

/** Properties of a tool that a client may show to its user. */
interface Hints {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

interface Tool {
  described: object;
  call(given: unknown): Promise<ToolResult>;
}

export interface Reply {
  status: number;
  /** Missing for notifications, whose HTTP response has no body. */
  body?: object;
}

class Refusal extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, status = 200, data?: object) {
    super(message);
    this.code = code;
    this.status = status;
    this.data = data;
  }
}

function mismatch(detail: string): Refusal {
  return new Refusal(Code.headerMismatch, `The headers and the body disagree: ${detail}`, 400);
}

/** Checks the properties and headers that the stateless MCP version (without `initialize`) requires. */
function requireEnvelope(method: string, { _meta: meta = {}, name }: Params, headers: Headers): void {
  const version = meta[`${META}protocolVersion`];
  const requireHeader = (header: string, value: unknown) => {
    // Not every runtime removes the spaces and tabs around a value.
    const sent = headers.get(header)?.replace(/^[ \t]+|[ \t]+$/g, "");
    if (sent !== value) throw mismatch(`${header} must be ${String(value)} (is ${sent ?? "missing"})`);
  };
  if (version !== undefined) requireHeader("mcp-protocol-version", version);
  const missing = ["protocolVersion", "clientCapabilities"].filter((key) => meta[META + key] === undefined);
  if (version !== undefined && version !== STATELESS_VERSION)
    throw new Refusal(Code.unsupportedVersion, `Unsupported protocol version: ${String(version)}`, 400, {
      supported: [STATELESS_VERSION],
      requested: version,
    });
  if (missing.length > 0) {
    const keys = missing.map((key) => META + key);
    const detail = `params._meta must contain ${keys.join(" and ")}`;
    throw new Refusal(Code.invalidParams, detail, 400, { envelope: { missing: keys } });
  }
  requireHeader("mcp-method", method);
  if (method === "tools/call") requireHeader("mcp-name", name);
}

/** Returns whether a request follows the MCP version in which clients do not send `initialize`. */
function isStateless(method: string, { _meta: meta }: Params, headers: Headers): boolean {
  if (meta?.[`${META}protocolVersion`] !== undefined) return true;
  const version = headers.get("mcp-protocol-version");
  const known: readonly string[] = HANDSHAKE_VERSIONS;
  return method !== "initialize" && version !== null && !known.includes(version);
}

function refusedInput(fault: z.ZodError, input: unknown): ToolResult {
  const lines = faultsOf(fault, input).map(({ path, message }) => `${path} ${message}`);
  return {
    content: [{ type: "text", text: ["The arguments are invalid", ...lines].join("\n") }],
    isError: true,
  };
}

/** Converts a schema to JSON Schema, which OpenAPI 3.1 contains. This adds less to the bundle than zod's converter. */
function jsonSchemaOf(schema: z.ZodType): object {
  const router = new OpenAPIHono();
  router.openAPIRegistry.register("Input", schema);
  const info = { title: "", version: "" };
  const { components } = router.getOpenAPI31Document({ openapi: "3.1.0", info });
  return components?.schemas?.Input ?? {};
}

export class ToolServer {
  readonly #info: { name: string; version: string };
  readonly #instructions: string;
  readonly #tools = new Map<string, Tool>();

  constructor(info: { name: string; version: string }, instructions: string) {
    this.#info = info;
    this.#instructions = instructions;
  }

  registerTool<T extends z.ZodType>(
    name: string,
    { inputSchema, ...about }: { description: string; inputSchema: T; annotations?: Hints },
    use: (input: z.output<T>) => Promise<ToolResult>,
  ): void {
    this.#tools.set(name, {
      // Each request creates its own tool server. So convert the schema only on demand, when the client lists the
      // tools.
      get described() {
        return { name, ...about, inputSchema: jsonSchemaOf(inputSchema) };
      },
      async call(given) {
        const input = inputSchema.safeParse(given);
        return input.success ? use(input.data) : refusedInput(input.error, given);
      },
    });
  }

  /** @param failed receives errors that the client sees only as `Internal error` */
  async respond(message: Message, headers: Headers, failed: (error: unknown) => void): Promise<Reply> {
    const { id } = message;
    if (id === undefined) return { status: 202 };
    const body = { jsonrpc: "2.0", id };
    try {
      return { status: 200, body: { ...body, result: await this.#result(message, headers) } };
    } catch (error) {
      if (!(error instanceof Refusal)) failed(error);
      const { code, message, data, status } =
        error instanceof Refusal ? error : new Refusal(Code.internal, "Internal error");
      return { status, body: { ...body, error: { code, message, ...(data === undefined ? {} : { data }) } } };
    }
  }

  async #result(message: Message, headers: Headers): Promise<object> {
    const { method } = message;
    const given = params.safeParse(message.params ?? {});
    if (!given.success)
      throw new Refusal(Code.invalidParams, "params._meta and params.arguments must be objects");
    if (!isStateless(method, given.data, headers)) {
      if (method === "initialize") return this.#introduction(given.data.protocolVersion);
      if (method === "ping") return {};
      return this.#use(method, given.data, 200);
    }
    requireEnvelope(method, given.data, headers);
    const result =
      method === "server/discover"
        ? { supportedVersions: [STATELESS_VERSION], ...this.#about() }
        : await this.#use(method, given.data, 404);
    // Tools and instructions depend on the caller and on the application's definition, so clients must not cache them.
    const caching = method === "tools/call" ? {} : { ttlMs: 0, cacheScope: "private" };
    return { ...result, resultType: "complete", ...caching, _meta: { [`${META}serverInfo`]: this.#info } };
  }

  #about(): object {
    return { capabilities: { tools: {} }, instructions: this.#instructions };
  }

  #introduction(asked: unknown): object {
    const protocolVersion = HANDSHAKE_VERSIONS.find((version) => version === asked) ?? HANDSHAKE_VERSIONS[0];
    return { protocolVersion, serverInfo: this.#info, ...this.#about() };
  }

  async #use(
    method: string,
    { name, arguments: input = {} }: Params,
    unknownStatus: number,
  ): Promise<object> {
    if (method === "tools/list")
      return { tools: [...this.#tools.values()].map(({ described }) => described) };
    if (method !== "tools/call") throw new Refusal(Code.methodNotFound, "Method not found", unknownStatus);
    const tool = this.#tools.get(String(name));
    if (tool === undefined) throw new Refusal(Code.invalidParams, `Tool ${String(name)} not found`);
    return tool.call(input);
  }
}
