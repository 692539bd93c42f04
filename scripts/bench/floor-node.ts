/**
 * A minimal server to compare with the Node host: Hono on Node and one broker connection, without any platform code.
 */
import { createAdaptorServer } from "@hono/node-server";
import { connect } from "nats.ws";

const { NATS_URL = "", NATS_USER = "", NATS_PASS = "" } = process.env;
const nc = await connect({
  servers: NATS_URL,
  user: NATS_USER,
  pass: NATS_PASS,
  inboxPrefix: `_INBOX.${NATS_USER}`,
});

const server = createAdaptorServer({
  async fetch(request) {
    const at = request.url.indexOf("?get=");
    if (at < 0) return new Response("pong");
    const [stream, subject] = decodeURIComponent(request.url.slice(at + 5)).split("/");
    const answer = await nc.request(`$JS.API.DIRECT.GET.${stream}.${subject}`);
    return new Response(answer.string(), { headers: { "content-type": "application/json" } });
  },
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify(server.address())));
process.on("disconnect", () => process.exit(0));
