/** Compiles TypeScript programs in a separate folder, against the generated types of a platform's orbs. */
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
  /** Writes a file into the folder. Returns the file's address for `import`. */
  write(name: string, text: string): string;
  /** @throws Error with the compiler's messages if a program does not compile */
  compile(): void;
}

/**
 * Runs the TypeScript compiler.
 * @throws Error with the compiler's messages if the compilation fails
 */
export function compileWith(args: readonly string[], cwd = root): void {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  try {
    execFileSync(process.execPath, [compiler, ...args], { cwd, stdio: "pipe" });
  } catch (error) {
    throw new Error(String(Reflect.get(Object(error), "stdout")));
  }
}

/** Creates the folder for programs. It is inside the checkout, so that programs can import packages and the client. */
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
