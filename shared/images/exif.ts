const TAG_ORIENTATION = 0x0112;
const TYPE_SHORT = 3;
/** Maximum number of tags to read. */
const MAX_TAGS = 200;

/**
 * Returns the orientation in EXIF data, from 1 to 8. Returns undefined if the data is not EXIF or has no orientation.
 */
export function orientationIn(exif: Uint8Array): number | undefined {
  if (exif.length < 14) return undefined;
  const view = new DataView(exif.buffer, exif.byteOffset, exif.byteLength);
  const order = view.getUint16(0);
  const little = order === 0x4949;
  if (!little && order !== 0x4d4d) return undefined;
  const first = view.getUint32(4, little);
  if (view.getUint16(2, little) !== 42 || first + 2 > exif.length) return undefined;
  const count = Math.min(MAX_TAGS, view.getUint16(first, little));
  for (let i = 0; i < count; i++) {
    const at = first + 2 + i * 12;
    if (at + 12 > exif.length) return undefined;
    if (view.getUint16(at, little) !== TAG_ORIENTATION || view.getUint16(at + 2, little) !== TYPE_SHORT)
      continue;
    const value = view.getUint16(at + 8, little);
    return value >= 1 && value <= 8 ? value : undefined;
  }
  return undefined;
}
