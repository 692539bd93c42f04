// A service without any library: the broker's text protocol over a socket. Shows the steps of a service in any
// language: write its registration, listen on its subject, respond.      NATS_URL=$(npm run --silent nats:url) node
// scripts/examples/greeter.mjs
import { createConnection } from "node:net";

const url = new URL(process.env.NATS_URL ?? "nats://127.0.0.1:4222");
const subject = "svc.greeter.hello";
const entry = {
  name: "greeter.hello",
  description: "Greets.",
  auth: "None",
  kind: "nats",
  subject,
  input: { type: "object", required: ["name"], properties: { name: { type: "string", maxLength: 100 } } },
};

const socket = createConnection({ host: url.hostname, port: Number(url.port) });
let received = Buffer.alloc(0);

const send = (line, body = "") => socket.write(`${line}\r\n${body}`);
const publish = (to, text, replyTo = "") =>
  send(`PUB ${to} ${replyTo} ${Buffer.byteLength(text)}`, `${text}\r\n`);
// An error response has headers: the status for the caller, and a message.
const refuse = (to, code, words) => {
  const headers = `NATS/1.0\r\nNats-Service-Error-Code: ${code}\r\nNats-Service-Error: ${words}\r\n\r\n`;
  const size = Buffer.byteLength(headers);
  send(`HPUB ${to} ${size} ${size}`, `${headers}\r\n`);
};

// Only the first error is reported. The connection that it closes would cause another one.
let complained = false;
function complain(words) {
  if (!complained)
    console.error(
      `The broker at ${url.host} rejects the connection (${words}). Set NATS_URL, see npm run nats:url.`,
    );
  complained = true;
  process.exitCode = 1;
}

function answer(to, text) {
  const { orbId, input, caller } = JSON.parse(text);
  if (input.name === "") return refuse(to, 400, "Nobody has no name");
  publish(to, JSON.stringify({ greeting: `Hello ${input.name}`, orb: orbId, by: caller?.sub ?? null }));
}

function onMessage(sid, replyTo, text) {
  if (sid === "2") return answer(replyTo, text);
  // The broker has stored the registration, or reports why not.
  console.log(JSON.parse(text).error === undefined ? "ready: greeter.hello" : text);
}

/** Removes one line and its message from the received data. Returns false if more data must arrive first. */
function take() {
  const end = received.indexOf("\r\n");
  if (end < 0) return false;
  const [operation, ...words] = received.subarray(0, end).toString().split(" ");
  let next = end + 2;
  if (operation === "MSG" || operation === "HMSG") {
    const size = Number(words.at(-1));
    const headers = operation === "HMSG" ? Number(words.at(-2)) : 0;
    if (received.length < next + size + 2) return false;
    const text = received.subarray(next + headers, next + size).toString();
    // The line consists of the subject, the subscription, the reply subject (if any) and the sizes.
    const replyTo = words.length > (headers > 0 ? 4 : 3) ? words[2] : "";
    next += size + 2;
    onMessage(words[1], replyTo, text);
  } else if (operation === "PING") send("PONG");
  else if (operation === "PONG") welcomed ? socket.end() : register();
  else if (operation === "-ERR") complain(words.join(" "));
  received = received.subarray(next);
  return true;
}

socket.on("data", (data) => {
  received = Buffer.concat([received, data]);
  while (take());
});
socket.on("connect", () => {
  const { username: user, password: pass } = url;
  const options = {
    verbose: false,
    pedantic: false,
    headers: true,
    no_responders: true,
    lang: "none",
    version: "1",
  };
  send(`CONNECT ${JSON.stringify({ ...options, user, pass, name: "greeter" })}`);
  // The broker's PONG confirms that the credentials are valid, so wait for it before going on.
  send("PING");
});

let welcomed = false;
function register() {
  welcomed = true;
  send(`SUB ${subject} greeter 2`); // The queue group "greeter": several instances share the load.
  const inbox = `_INBOX.${url.username || "greeter"}.${process.pid}`;
  send(`SUB ${inbox} 1`);
  publish(`$KV.handlers.${entry.name}`, JSON.stringify(entry), inbox);
}
socket.on("error", (error) => complain(error.message || error.code));
// Stop receiving requests. Those that arrived before the broker's PONG still get a response.
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    send("UNSUB 2");
    send("PING");
  });
}
