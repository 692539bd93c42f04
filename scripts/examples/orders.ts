/**
 * A service in TypeScript that takes orders. It reads the price from the catalog and records the total for its caller.
 * Callers cannot record an order themselves, because the schema lets only this handler create one.
 *
 * NATS_URL=$(npm run --silent nats:url) node_modules/.bin/node scripts/examples/orders.ts
 */
import { connect, headers } from "nats";
import { type KitCall, ServiceError, serve } from "../../shared/handlers/contract/index.ts";

const address = new URL(process.env.NATS_URL ?? "nats://127.0.0.1:4222");
const connection = await connect({
  servers: address.host,
  user: decodeURIComponent(address.username),
  pass: decodeURIComponent(address.password),
  name: "orders",
}).catch((error: unknown) => {
  const words = error instanceof Error ? error.message : String(error);
  console.error(
    `The broker at ${address.host} rejects the connection (${words}). Set NATS_URL, see npm run nats:url.`,
  );
  process.exit(1);
});

interface Order {
  product: string;
  count: number;
}

interface Product {
  values: { price: number | null };
}

const service = await serve({
  connection,
  headers,
  service: "orders",
  handlers: {
    place: {
      description: "Places an order at the price of the catalog.",
      auth: "AuthRequired",
      acts: ["entries:read", "transactions:record"],
      input: {
        type: "object",
        required: ["product", "count"],
        additionalProperties: false,
        properties: {
          product: { type: "string", description: "Id of the product", pattern: "^[0-9A-Za-z]{1,64}$" },
          count: { type: "integer", minimum: 1, maximum: 100 },
        },
      },
      async handle({ product, count }: Order, { api, idempotencyKey }: KitCall) {
        const { values } = (await api("GET", `/catalog/product/${product}`)) as Product;
        if (values.price === null) throw new ServiceError(409, "This product has no price yet.");
        return api("POST", "/call/record", {
          values: { product, count, total: values.price * count },
          // With this key, the caller can repeat a request without placing a second order.
          ...(idempotencyKey === undefined ? {} : { key: idempotencyKey }),
        });
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
