// The account of time with the replay beside it: each class's part of the critical path, and the step
// without the class.
import type { Overview } from "../../api/types";
import type { Selected } from "../../state/selection";
import { useView } from "../../state/use-result";
import { t } from "../../i18n";
import { TryIt } from "../shared/try-it";
import { TimeAccount } from "./time-account";

interface AccountWithPathProps {
  now: Overview;
  selected: Selected;
}

/** The path comes later than the page: its steps are replayed first. */
export function AccountWithPath({ now, selected }: AccountWithPathProps) {
  const { loaded } = useView("whatif", selected, now.account === null ? null : { ranking: false });
  const known = loaded.status === "ready" && loaded.value.measured_ns !== null ? loaded.value.classes : null;
  const path = known && new Map(known.map((one) => [one.name, one]));
  return (
    <TimeAccount
      now={now}
      step={selected.place.step}
      path={path}
      tried={(name) => <TryIt selected={selected} change={`class:${name}=0`} label={t.tryIt.without} />}
    />
  );
}
