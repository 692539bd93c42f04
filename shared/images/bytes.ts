/** Reads numbers and text from the first bytes of a file. */
export class Bytes {
  readonly view: DataView;
  readonly size: number;
  readonly all: Uint8Array;

  constructor(all: Uint8Array) {
    this.all = all;
    this.size = all.length;
    this.view = new DataView(all.buffer, all.byteOffset, all.byteLength);
  }

  /** Returns bytes as characters. The result is shorter if the data ends first. */
  text(at: number, length: number): string {
    return String.fromCharCode(...this.all.subarray(at, at + length));
  }

  byte(at: number): number {
    return this.view.getUint8(at);
  }

  /** Returns `length` bytes, or fewer if the data ends first. */
  part(at: number, length: number): Uint8Array {
    return this.all.subarray(at, at + length);
  }
}
