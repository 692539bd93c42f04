/** Runs the reference server of the Durable Streams protocol in a separate process. */
import { DurableStreamTestServer } from "@durable-streams/server";

const server = new DurableStreamTestServer({ port: 0 });
process.send?.({ url: await server.start() });
process.on("disconnect", () => process.exit(0));
