import { join } from "node:path";

/** Paths of everything that the processes of a platform run and serve. See {@link programsIn}. */
export interface Programs {
  /** Folder of the static files of the web pages and the console. */
  assets: string;
  /** Module of the functions, for workerd. */
  functions: string;
  /** Module with the conversions of rich text, which the functions import. */
  conversions: string;
  /** Folder of the image worker: its module `worker.js`, and the codecs that the Node host uses too. */
  images: string;
  /** Programs of the Node host: its process, and the thread that makes smaller copies of images. */
  host: string;
  imageThread: string;
  streams: string;
  hooks: string;
}

/** Returns where `buildPrograms` writes what a platform runs. */
export function programsIn(dir: string): Programs {
  return {
    assets: join(dir, "assets"),
    functions: join(dir, "functions.js"),
    conversions: join(dir, "rich-text.js"),
    images: join(dir, "images"),
    host: join(dir, "platform-host.mjs"),
    imageThread: join(dir, "platform-images.mjs"),
    streams: join(dir, "platform-streams.mjs"),
    hooks: join(dir, "platform-hooks.mjs"),
  };
}
