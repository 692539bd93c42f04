/**
 * Prints TypeScript types for the OpenAPI document on standard input, made with openapi-typescript. That package needs
 * the compiler's JavaScript API, which TypeScript 7 does not have. So it gets an older compiler, which is a dependency
 * of another package.
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
