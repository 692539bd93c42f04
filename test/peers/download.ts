import { connect } from "node:net";

const BUFFER = 256 * 1024;
const END_OF_HEAD = "\r\n\r\n";

/**
 * Downloads a URL repeatedly on all connections. Reads into one buffer and only counts the bytes. Node's HTTP client
 * would use more processor time than the servers, so the figures would measure the client instead.
 * @returns downloads a second
 */
export async function loadDownloads(
  address: string,
  { bytes, connections, roundMs }: { bytes: number; connections: number; roundMs: number },
): Promise<number> {
  const { hostname, port, host, pathname } = new URL(address);
  const request = `GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\n\r\n`;
  const began = performance.now();
  let count = 0;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      let head = "";
      /** Bytes of the body that have not arrived; undefined until the head is complete. */
      let left: number | undefined;
      /** Returns the position of the body. */
      const takeHead = (buffer: Uint8Array, length: number): number => {
        const before = head.length;
        head += Buffer.from(buffer.buffer, buffer.byteOffset, length).toString("latin1");
        const end = head.indexOf(END_OF_HEAD);
        if (end < 0) return length;
        left = Number(/^content-length: (\d+)/im.exec(head)?.[1]);
        if (!head.startsWith("HTTP/1.1 200") || left !== bytes) throw new Error(head);
        head = "";
        return end + END_OF_HEAD.length - before;
      };
      const take = (length: number, buffer: Uint8Array) => {
        const at = left === undefined ? takeHead(buffer, length) : 0;
        if (left === undefined) return;
        left -= length - at;
        if (left > 0) return;
        left = undefined;
        count++;
        if (performance.now() - began < roundMs) socket.write(request);
        else socket.end(() => resolve());
      };
      const callback = (length: number, buffer: Uint8Array) => {
        try {
          take(length, buffer);
        } catch (error) {
          reject(error);
          socket.destroy();
        }
        return true;
      };
      const onread = { buffer: Buffer.allocUnsafeSlow(BUFFER), callback };
      const socket = connect({ port: Number(port), host: hostname, onread }, () => socket.write(request));
      socket.once("error", reject);
    });
  await Promise.all(Array.from({ length: connections }, one));
  return (count / (performance.now() - began)) * 1_000;
}
