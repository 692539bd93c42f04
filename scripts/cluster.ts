/** `npm run cluster`: `npm start` with a local cluster of three brokers and three replicas of every stream and bucket. */
process.env.NATS_BROKERS = "3";
await import("./start.ts");
