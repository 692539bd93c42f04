import { escapeSegment } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { FIELD_TRAITS } from "../types/index.ts";
import type { FieldType } from "./parts/index.ts";

const FILE_ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * Properties that responses contain in addition to a file's id. Requests may contain them too, but writes ignore them.
 */
const SHOWN: readonly string[] = [
  "url",
  "type",
  "size",
  "name",
  "sha256",
  "width",
  "height",
  "color",
  "animated",
];

/**
 * A field that refers to an uploaded file by its id. A write checks that the caller may use the file, and also stores
 * the file's public properties.
 */
export const fileType: FieldType = {
  name: "file",
  ...FIELD_TRAITS.file,
  parse(value, report) {
    if (!isObject(value)) {
      report("type", 'must be an object with the id of a file: {"file": "<id>"}');
      return undefined;
    }
    for (const key of Object.keys(value)) {
      if (key === "file" || SHOWN.includes(key)) continue;
      report("unknown_property", "is not a known property. Remove it.", `/${escapeSegment(key)}`);
      return undefined;
    }
    if (typeof value.file === "string" && FILE_ID.test(value.file)) return { file: value.file };
    report("format", "must be the id of a file", "/file");
    return undefined;
  },
  fromText: () => undefined,
  rules: () => () => {},
  compare: () => 0,
  token: () => null,
  jsonSchema: ({ accept }) => ({
    type: "object",
    required: ["file"],
    properties: {
      file: { type: "string", pattern: FILE_ID.source, description: "Id of an uploaded file." },
      url: { type: "string", readOnly: true, description: "Path of the content." },
      type: {
        type: "string",
        readOnly: true,
        description: accept === undefined ? "Media type." : `Media type: ${accept.join(", ")}.`,
      },
      size: { type: "integer", readOnly: true, description: "Bytes." },
      name: { type: "string", readOnly: true, description: "File name." },
      sha256: { type: "string", readOnly: true, description: "SHA-256 of the content, hexadecimal." },
      width: { type: "integer", readOnly: true, description: "Width of an image in pixels, as shown." },
      height: { type: "integer", readOnly: true, description: "Height of an image in pixels, as shown." },
      color: { type: "string", readOnly: true, description: "Main colour of an image: #rrggbb." },
      animated: { type: "boolean", readOnly: true, description: "true for an image with several frames." },
    },
  }),
};
