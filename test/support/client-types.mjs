/**
 * Prints TypeScript types of the OpenAPI document on standard input, made by openapi-typescript.
 *
 * That tool builds syntax trees with the compiler's JavaScript API, which the project's own compiler (TypeScript 7)
 * does not have: it is handed an older compiler that another package carries.
 */
import { registerHooks } from "node:module";
import { text } from "node:stream/consumers";

registerHooks({
  resolve(specifier, context, next) {
    const asked = specifier === "typescript" && context.parentURL?.includes("/openapi-typescript/");
    return next(asked ? "@ts-morph/common/dist/typescript.js" : specifier, context);
  },
});
const { default: openapiTS, astToString } = await import("openapi-typescript");
process.stdout.write(
  astToString(await openapiTS(JSON.parse(await text(process.stdin)), { defaultNonNullable: false })),
);
