/**
 * A service in TypeScript that prices a cart. You can start several instances, which share the load.
 *
 * NATS_URL=$(npm run --silent nats:url) node_modules/.bin/node scripts/examples/pricing.ts
 */
import { connect, headers } from "nats";
import { ServiceError, serve } from "../../shared/handlers/contract/index.ts";

const address = new URL(process.env.NATS_URL ?? "nats://127.0.0.1:4222");
const connection = await connect({
  servers: address.host,
  user: decodeURIComponent(address.username),
  pass: decodeURIComponent(address.password),
  name: "pricing",
}).catch((error: unknown) => {
  const words = error instanceof Error ? error.message : String(error);
  console.error(
    `The broker at ${address.host} rejects the connection (${words}). Set NATS_URL, see npm run nats:url.`,
  );
  process.exit(1);
});

const PRICES: Record<string, number> = { chair: 49.5, table: 120 };

const service = await serve({
  connection,
  headers,
  service: "pricing",
  handlers: {
    quote: {
      description: "Prices a cart.",
      auth: "None",
      input: {
        type: "object",
        required: ["items"],
        additionalProperties: false,
        properties: {
          items: {
            type: "array",
            maxItems: 100,
            items: {
              type: "object",
              required: ["product", "count"],
              properties: { product: { type: "string" }, count: { type: "integer", minimum: 1 } },
            },
          },
        },
      },
      output: {
        type: "object",
        required: ["total", "currency", "for"],
        properties: {
          total: { type: "number" },
          currency: { type: "string" },
          for: { type: ["string", "null"] },
        },
      },
      handle(input: { items: { product: string; count: number }[] }, call) {
        let total = 0;
        for (const { product, count } of input.items) {
          const price = PRICES[product];
          if (price === undefined) throw new ServiceError(404, `There is no product "${product}".`);
          total += price * count;
        }
        return { total, currency: "USD", for: call.caller?.sub ?? null };
      },
    },
  },
  onError: (error, { handler, requestId }) => console.error(handler, requestId, error),
});
console.log(`ready: ${service.names.join(", ")}`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    await service.stop();
    await connection.close();
  });
}
