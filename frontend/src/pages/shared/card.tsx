// A part of a page with its own data: a placeholder of its height, an error of its own, or its content.
import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import type { Resource } from "../../state/use-result";
import { WindowContext, windowsOf } from "../../widgets/window-context";
import { t } from "../../i18n";
import "./card.css";

interface CardProps<T> {
  title?: ComponentChildren;
  /** How many lines the placeholder has. */
  lines: number;
  resource: Resource<T>;
  children: (value: T) => ComponentChildren;
}

/** Nothing once reading was canceled: the page says so. */
export function Card<T>({ title, lines, resource: { loaded, retry }, children }: CardProps<T>) {
  const around = useContext(WindowContext);
  if (loaded.status === "ready") {
    return (
      <WindowContext.Provider value={windowsOf(loaded.value, around)}>
        {children(loaded.value)}
      </WindowContext.Provider>
    );
  }
  if (loaded.status === "canceled") return null;
  return (
    <section class="card" aria-busy={loaded.status === "loading"}>
      {title !== undefined && <h2>{title}</h2>}
      {loaded.status === "failed" ? (
        <p class="muted" role="alert" data-testid="card-error" data-code={loaded.failure.code}>
          {loaded.failure.message}{" "}
          <button type="button" class="link" onClick={retry} data-testid="retry">
            {t.loadStates.retry}
          </button>
        </p>
      ) : (
        <div
          class="skeleton late"
          role="status"
          aria-label={t.loadStates.loading}
          style={{ "--lines": lines }}
        />
      )}
    </section>
  );
}
