/** The part of the runtime's own module that is used. */
declare module "cloudflare:workers" {
  export abstract class DurableObject<Env> {
    protected readonly env: Env;
    constructor(ctx: object, env: Env);
  }
}
