/** Runs the protocol's reference server, in memory, in a separate process, and sends its address to the parent. */
import { DurableStreamTestServer } from "@durable-streams/server";

const server = new DurableStreamTestServer({ port: 0 });
process.send?.({ url: await server.start() });
process.on("disconnect", () => process.exit(0));
