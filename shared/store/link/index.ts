export { type LinkStub, linkedStore } from "./link-client.ts";
export { LinkServer } from "./link-server.ts";
export type { RpcMessage } from "./rpc-message.ts";
