export const byId = (id: string) => document.getElementById(id);

export const inputAt = (id: string) => byId(id) as HTMLInputElement | null;

export function show(id: string, visible: boolean): void {
  const element = byId(id);
  if (element !== null) element.hidden = !visible;
}
