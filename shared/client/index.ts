/** The platform's client for browsers, workers, Node and Deno. It has no dependencies. */
import { type Collection, collection, type Wish } from "./collection.ts";
import { ceremony, type RegisterOptions, type SignInOptions } from "./passkey.ts";
import { readStream, type StreamBatch, type StreamOptions } from "./stream.ts";
import {
  type CallOptions,
  type ClientOptions,
  createTransport,
  newKey,
  type Transport,
} from "./transport.ts";
import type { AnyOrbs, Fields, Mode, OrbTypes } from "./types.ts";

export type { Collection, ListOptions, Page } from "./collection.ts";
export { Conflict, type Fault, isProblem, Problem } from "./problem.ts";
export type { StreamBatch, StreamOptions } from "./stream.ts";
export type { CallOptions, ClientOptions } from "./transport.ts";
export type { Entry, FieldType, OrbTypes, Status, Values } from "./types.ts";

interface HandlerOptions extends CallOptions {
  /** The service receives this key with every repetition, and can recognise repeated calls. */
  idempotencyKey?: string;
}

/** An orb: its collections by module and schema, and its handlers. */
export type OrbClient<All, O extends OrbTypes, D extends Mode> = {
  [M in keyof O["modules"] & string]: {
    [S in keyof O["modules"][M] & string]: O["modules"][M][S] extends Fields
      ? Collection<All, O, O["modules"][M][S], D>
      : never;
  };
} & {
  /**
   * Calls a handler by its name `service.handler`. A call that may have reached the service is not repeated.
   * @throws Problem with the code that the handler chose
   */
  call<N extends keyof O["handlers"] & string>(
    name: N,
    input: O["handlers"][N]["input"],
    options?: HandlerOptions,
  ): Promise<O["handlers"][N]["output"]>;
};

export interface Client<All, D extends Mode> {
  orb<N extends keyof All & string>(id: N): All[N] extends OrbTypes ? OrbClient<All, All[N], D> : never;
  /** Reads a stream without end. */
  stream<T = unknown>(name: string, options?: StreamOptions): AsyncGenerator<StreamBatch<T>, void, undefined>;
  /** Signs in with a passkey, and uses the new session from now on. Returns its token. */
  signIn(options?: SignInOptions): Promise<string>;
  /** Registers an account with a passkey, and uses the new session from now on. Returns its token. */
  register(options?: RegisterOptions): Promise<string>;
  /** Ends the session of the realm. */
  signOut(options?: SignInOptions): Promise<void>;
}

function orbClient(transport: Transport, orb: string, defaults: Wish): unknown {
  const base = `/api/${encodeURIComponent(orb)}`;
  const call = async (name: string, input: unknown, options: HandlerOptions = {}) => {
    // With the service, the path is clear even if another service has a handler of the same name.
    const named = name.split(".").map(encodeURIComponent).join("/");
    const response = await transport.send({
      method: "POST",
      path: `${base}/call/${named}`,
      body: input,
      headers: { "idempotency-key": options.idempotencyKey ?? newKey() },
      signal: options.signal,
      repeat: "refused",
    });
    return (await response.json()) as unknown;
  };
  // A proxy needs no list of modules, so the client works without a request for the definition.
  const byName = (make: (name: string) => unknown) =>
    new Proxy(Object.create(null) as Record<string, unknown>, {
      get(known, name) {
        // `await` and other code look for these names on every object.
        if (typeof name !== "string" || name === "then" || name === "toJSON") return undefined;
        known[name] ??= make(name);
        return known[name];
      },
    });
  const orbs = byName((module) =>
    byName((schema) =>
      collection(transport, `${base}/${encodeURIComponent(module)}/${encodeURIComponent(schema)}`, defaults),
    ),
  );
  // `call` is a reserved module id, so it hides no module.
  orbs.call = call;
  return orbs;
}

/**
 * Creates a client.
 * @throws TypeError outside browsers if the option `url` is missing
 */
export function createClient<All = AnyOrbs>(options: ClientOptions & { locale: string }): Client<All, "one">;
export function createClient<All = AnyOrbs>(options?: ClientOptions & { locale?: never }): Client<All, "all">;
export function createClient(options: ClientOptions = {}): unknown {
  const transport = createTransport(options);
  const defaults: Wish = {
    ...(options.locale === undefined ? {} : { locale: options.locale }),
    ...(options.market === undefined ? {} : { market: options.market }),
  };
  const enter = async (purpose: "signIn" | "register", input: RegisterOptions) => {
    const token = await ceremony(transport, purpose, input);
    transport.useToken(token);
    return token;
  };
  return {
    orb: (id: string) => orbClient(transport, id, defaults),
    stream: <T>(name: string, input: StreamOptions = {}) => readStream<T>(transport, name, input),
    signIn: (input: SignInOptions = {}) => enter("signIn", input),
    register: (input: RegisterOptions = {}) => enter("register", input),
    async signOut({ realm = "auth", signal }: SignInOptions = {}) {
      const path = realm === "platform" ? "/api/_auth/signout" : `/api/${encodeURIComponent(realm)}/signout`;
      await transport.send({ method: "POST", path, signal, repeat: "safe" });
      transport.useToken(undefined);
    },
  };
}
