/** Declares the commands that manage the user's own access. */
import type { Argv } from "yargs";
import { login, logout } from "./account/login.ts";
import { createToken, listTokens, revokeTokens } from "./account/tokens.ts";
import type { Context, GlobalOptions } from "./command/context.ts";
import { doctor } from "./doctor.ts";

type Run = (options: GlobalOptions, act: (context: Context) => Promise<number>) => Promise<void>;

const scopes = {
  type: "string",
  describe: 'read, propose, write, publish, manage; of one orb: "shop:read,write"',
} as const;

const definition = {
  type: "number",
  describe: "The token sees and writes the shape of this revision of the orb's document",
} as const;

const ownerOf = (y: Argv<GlobalOptions>) =>
  y
    .option("account", { type: "string", describe: "Id of a service account that you manage" })
    .option("orb", { type: "string", describe: "Orb of that service account; auth for shared accounts" });

/**
 * Adds the commands login, logout, token and doctor.
 * @param stopped aborted when the user stops the command
 */
export function accountCommands(
  cli: Argv<GlobalOptions>,
  run: Run,
  stopped: AbortSignal,
): Argv<GlobalOptions> {
  return cli
    .command(
      "login",
      "Sign in with a passkey in your browser, and store a token for the platform",
      (y) =>
        y
          .option("orb", {
            type: "string",
            describe: "Sign in as a user of this orb, not as a platform admin; auth for shared accounts",
          })
          .option("scopes", scopes)
          .option("days", { type: "number", default: 30, describe: "Days until the token ends" })
          .option("browser", {
            type: "boolean",
            describe: "Open a browser. With --no-browser, use one on any computer and paste its code",
          }),
      (args) => run(args, (context) => login(context, { ...args, signal: stopped })),
    )
    .command(
      "logout",
      "Revoke the stored token, and delete it",
      (y) => y,
      (args) => run(args, logout),
    )
    .command("token", "List, create and revoke API tokens", (y) =>
      y
        .command("list", "List the tokens of your account", ownerOf, (args) =>
          run(args, (context) => listTokens(context, args)),
        )
        .command(
          "create <name>",
          "Create a token for a program, and print it once",
          (each) =>
            ownerOf(each)
              .positional("name", {
                type: "string",
                demandOption: true,
                describe: "The program that uses it",
              })
              .option("scopes", { ...scopes, default: "read" })
              .option("days", {
                type: "number",
                describe: "Days until the token ends; 90, or fewer if your own token ends sooner",
              })
              .option("never", {
                type: "boolean",
                default: false,
                describe: "The token does not end. For platform admins",
              })
              .option("definition", definition),
          (args) => run(args, (context) => createToken(context, args.name, args)),
        )
        .command(
          "revoke <ids..>",
          "Revoke tokens. Programs that use them stop working",
          (each) =>
            ownerOf(each).positional("ids", {
              type: "string",
              array: true,
              demandOption: true,
              describe: "Ids of tokens, as orb token list shows them",
            }),
          (args) => run(args, (context) => revokeTokens(context, args.ids, args)),
        )
        .demandCommand(1, "Name a command: list, create or revoke."),
    )
    .command(
      "doctor",
      "Check what the commands need, and say what to do. Exits with 1 if a check fails",
      (y) => y,
      (args) => run(args, doctor),
    );
}
