// What the selected interval consists of, by names, operators, callers, streams, causes and counters.
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { Segmented } from "../../widgets/controls/segmented";
import { AreaCallers } from "./area-callers";
import { AreaCounters } from "./area-counters";
import { AreaFlame } from "./area-flame";
import { AreaIdle } from "./area-idle";
import { AreaNames } from "./area-names";
import { AreaCalls, AreaOperators, AreaStreams } from "./area-times";
import type { AreaTabProps } from "./area-props";

const texts = t.timelineArea;
const TABS = ["names", "operators", "callers", "flame", "streams", "idle", "calls", "counters"] as const;
type Tab = (typeof TABS)[number];

/** What the URL says; by name where it says nothing. */
const tab = (): Tab => TABS.find((one) => one === state.value.group) ?? "names";

/** Counters are a tab where the trace has any. */
export function AreaTabs({ lane }: Pick<AreaTabProps, "lane">) {
  const counters = lane.base.counters.some(({ what }) => what === "recorded");
  const tabs = TABS.filter((one) => one !== "counters" || counters || tab() === one);
  return (
    <Segmented
      label={texts.show}
      value={tab()}
      choices={tabs.map((value) => ({ value, ...texts.tabs[value] }))}
      onPick={(value: Tab) =>
        go({ group: value === "names" ? null : value, sort: null, filter: null, zoom: null }, "replace")
      }
    />
  );
}

export function AreaTab(props: AreaTabProps) {
  switch (tab()) {
    case "names":
      return <AreaNames area={props.area} />;
    case "operators":
      return <AreaOperators {...props} />;
    case "streams":
      return <AreaStreams {...props} />;
    case "calls":
      return <AreaCalls {...props} />;
    case "counters":
      return <AreaCounters {...props} />;
    case "idle":
      return <AreaIdle {...props} />;
    case "flame":
      return <AreaFlame {...props} />;
    case "callers":
      return <AreaCallers {...props} />;
  }
}
