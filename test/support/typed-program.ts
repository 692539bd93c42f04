/** Compiles TypeScript programs in a folder of their own, against the types of a platform's orbs. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const TSCONFIG = JSON.stringify({
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: "es2024",
    lib: ["es2024", "dom", "dom.iterable"],
    module: "nodenext",
    skipLibCheck: true,
    types: [],
    allowImportingTsExtensions: true,
  },
  include: ["*.ts"],
});

export interface Programs extends Disposable {
  /** Writes a file into the folder and returns its address for `import`. */
  write(name: string, text: string): string;
  /** @throws Error with the compiler's messages if a program is not valid */
  compile(): void;
}

/** Runs the compiler. @throws Error with its messages if it finds a fault */
export function compileWith(args: readonly string[], cwd = root): void {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  try {
    execFileSync(process.execPath, [compiler, ...args], { cwd, stdio: "pipe" });
  } catch (error) {
    throw new Error(String(Reflect.get(Object(error), "stdout")));
  }
}

/** The folder is in the checkout, so that programs find packages and the client. */
export function programs(): Programs {
  const folder = join(root, ".wrangler", `programs-${process.pid}-${Date.now()}`);
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return pathToFileURL(join(folder, name)).href;
  };
  write("package.json", '{"type":"module"}');
  write("tsconfig.json", TSCONFIG);
  return {
    write,
    compile() {
      compileWith(["-p", folder]);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
