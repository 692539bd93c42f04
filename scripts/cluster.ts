/** `npm run cluster`: `npm start` on a local cluster of three brokers, every stream and bucket on all three. */
process.env.NATS_BROKERS = "3";
await import("./start.ts");
