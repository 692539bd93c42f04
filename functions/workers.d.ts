declare module "cloudflare:workers" {
  export abstract class DurableObject<Env> {
    protected readonly ctx: { abort(reason: string): void };
    protected readonly env: Env;
    constructor(ctx: object, env: Env);
  }
  export abstract class RpcTarget {}
}

declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
