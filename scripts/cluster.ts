/** `npm run cluster` runs `npm start` with a cluster of three brokers on this machine. */
process.env.NATS_BROKERS = "3";
await import("./start.ts");
