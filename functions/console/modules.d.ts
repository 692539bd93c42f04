/** The SVG elements of an icon from the package lucide-static. The bundler resolves this module. */
declare module "lucide:*" {
  const nodes: readonly (readonly [name: string, attributes: Readonly<Record<string, string>>])[];
  export default nodes;
}
