// What the selected interval consists of, by names, operators, callers, streams, causes and counters.
import { timeIn } from "../../lib/format";
import { WindowContext } from "../../widgets/window-context";
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
type TabName = (typeof TABS)[number];

/** What the URL says; by name where it says nothing. */
const tab = (): TabName => TABS.find((one) => one === state.value.group) ?? "names";

/** Counters are a tab where the trace has any. */
export function AreaTabs({ lane }: Pick<AreaTabProps, "lane">) {
  const counters = lane.base.counters.some(({ what }) => what === "recorded");
  const tabs = TABS.filter((one) => one !== "counters" || counters || tab() === one);
  return (
    <Segmented
      label={texts.show}
      value={tab()}
      choices={tabs.map((value) => ({ value, ...texts.tabs[value] }))}
      onPick={(value: TabName) =>
        go({ group: value === "names" ? null : value, sort: null, filter: null, zoom: null }, "replace")
      }
    />
  );
}

export function AreaTab(props: AreaTabProps) {
  const { start_ns = 0, stop_ns } = props.options;
  const stop = stop_ns ?? props.lane.base.end_ns;
  const [from, to] = [start_ns, stop].map((at) => timeIn(at ?? 0, stop - (start_ns ?? 0)));
  return (
    <WindowContext.Provider value={{ window: t.timeline.pictureTitle(from ?? "", to ?? "") }}>
      <Tab {...props} />
    </WindowContext.Provider>
  );
}

function Tab(props: AreaTabProps) {
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
