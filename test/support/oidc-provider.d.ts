/** The part of the npm package `oidc-provider` that tests use. The package does not contain types. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Account {
    accountId: string;
    claims(): Promise<{ sub: string } & Record<string, unknown>>;
  }

  export default class Provider {
    constructor(
      issuer: string,
      configuration: {
        clients: Record<string, unknown>[];
        cookies: { keys: string[] };
        jwks: { keys: object[] };
        claims: Record<string, string[]>;
        conformIdTokenClaims: boolean;
        pkce: { required: () => boolean };
        findAccount(context: unknown, id: string): Promise<Account>;
      },
    );
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
  }
}
