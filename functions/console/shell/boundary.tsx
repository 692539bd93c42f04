import { Component, type ComponentChildren } from "preact";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";

/** Shows an error instead of a page that fails to render. Resets when the user opens another path. */
export class Boundary extends Component<
  { path: string; children: ComponentChildren },
  { error?: unknown; path?: string }
> {
  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  static override getDerivedStateFromProps(
    props: { path: string },
    state: { error?: unknown; path?: string },
  ) {
    return state.path === props.path ? null : { error: undefined, path: props.path };
  }

  override componentDidCatch(error: unknown) {
    console.error(error);
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div class="page">
        <div class="problem" role="alert">
          <Icon name="circleAlert" size={20} />
          <div>
            <p>{t("problem.crashed")}</p>
            <p class="hint">{error instanceof Error ? error.message : String(error)}</p>
            <Button icon="refresh" onClick={() => location.reload()}>
              {t("problem.reload")}
            </Button>
          </div>
        </div>
      </div>
    );
  }
}
