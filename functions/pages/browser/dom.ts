export const byId = (id: string) => document.getElementById(id);

export const inputAt = (id: string) => byId(id) as HTMLInputElement | null;

export function part<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export function show(id: string, visible: boolean): void {
  const element = byId(id);
  if (element !== null) element.hidden = !visible;
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const MINUTE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const day = (time: string) => DAY.format(new Date(time));
export const minute = (time: string) => MINUTE.format(new Date(time));

/**
 * Returns a button that asks for confirmation on the first press and runs the action on the second. Also returns a
 * function that resets the button and updates its label.
 * @param what returns the name of the affected object. Screen readers need the name, because they read the button out
 * of context.
 */
export function twice(
  ask: string,
  sure: string,
  what: () => string,
  act: () => void,
): { button: HTMLButtonElement; renew: () => void } {
  const button = part("button", { type: "button", className: "small" });
  let asked = false;
  const set = (again: boolean) => {
    asked = again;
    button.textContent = again ? sure : ask;
    button.setAttribute("aria-label", `${button.textContent} ${what()}`.trim());
  };
  const renew = () => set(false);
  renew();
  button.addEventListener("blur", renew);
  button.addEventListener("click", () => {
    if (asked) act();
    else set(true);
  });
  return { button, renew };
}
