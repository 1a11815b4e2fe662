// A page whose script is loaded when it is first shown: the first page does not wait for the others.
import type { FunctionComponent } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { Failure } from "../../api/client";
import { t } from "../../i18n";
import { Show } from "./load-states";

const texts = t.onDemand;

/** The component that `load` brings; until it is there, what stands for a result that is loading. */
export function onDemand<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  let Loaded: FunctionComponent<Props> | null = null;
  return function OnDemand(props: Props) {
    const [status, setStatus] = useState<"loading" | "ready" | "failed">("loading");
    useLayoutEffect(() => {
      if (Loaded !== null) return;
      load().then(
        (component) => {
          Loaded = component;
          setStatus("ready");
        },
        () => setStatus("failed"),
      );
    }, []);
    if (Loaded !== null) return <Loaded {...props} />;
    return <Show resource={status === "failed" ? failed() : LOADING}>{() => null}</Show>;
  };
}

const LOADING = {
  loaded: { status: "loading", progress: null },
  retry: () => undefined,
  cancel: () => undefined,
} as const;

/** The server is gone; or after its update the script has another name, which only the whole page knows. */
const failed = () =>
  ({
    ...LOADING,
    loaded: { status: "failed", failure: new Failure("network", t.client.unreachable, texts.hint) },
    retry: () => location.reload(),
  }) as const;
