// Above the timeline: search, ranks, colors, the critical path, exports.
import type { Critical } from "../../api/types";
import { t } from "../../i18n";
import { downloadPicture } from "../../lib/dom";
import { duration, timeIn } from "../../lib/format";
import { pictureWithLabels } from "../../lib/png";
import type { Selected } from "../../state/selection";
import { timeTicks } from "../../widgets/charts/ticks";
import { span, whole, type Camera } from "../../widgets/timeline/camera";
import type { Area } from "../../widgets/timeline/selection-area";
import { ColorMenu } from "./color-menu";
import { CriticalToggle } from "./critical-path";
import type { ShowItem } from "./details-panel";
import { ExportMenu } from "./export-menu";
import { RankPicker, type Ranks } from "./rank-picker";
import { SearchBox, type SearchState } from "./search-box";
import type { CameraState } from "./url-state";
import type { Tracks } from "./use-tracks";

const texts = t.timeline;

interface ToolbarProps {
  selected: Selected;
  /** The selected step. */
  step: Camera | null;
  ranks: Ranks;
  tracks: Tracks;
  view: CameraState;
  area: Area | null;
  marks: readonly number[];
  find: string | null;
  search: SearchState;
  show: ShowItem;
  critical: Critical | null;
  onCritical: (critical: Critical) => void;
  /** The element whose canvas the picture shows. */
  page: () => HTMLElement | null;
}

export function Toolbar(props: ToolbarProps) {
  const { selected, step, ranks, tracks, view, area, marks, find, search, show } = props;
  const { lanes, all } = tracks;
  const { camera, move } = view;
  return (
    <div class="toolbar">
      <SearchBox find={find} search={search} show={show} />
      <RankPicker selected={selected} ranks={ranks} />
      <ColorMenu modules={lanes.some((one) => one.base.has_modules)} />
      <CriticalToggle
        selected={selected}
        step={step}
        lane={lanes[0]}
        found={props.critical}
        onFound={props.onCritical}
      />
      <button type="button" onClick={() => move(whole(all))} title={texts.fitHelp} data-testid="fit-all">
        {texts.fit}
      </button>
      <ExportMenu selected={selected} camera={camera} area={area} all={all} />
      <button
        type="button"
        class="quiet"
        title={texts.picture}
        data-testid="png-timeline"
        onClick={() => savePicture(props.page(), camera, selected)}
      >
        PNG
      </button>
      <span class="muted" title={hint(area, marks)}>
        {hint(area, marks)}
      </span>
    </div>
  );
}

/** How long the selected interval is, or how far the last two marks are apart; else what one can do. */
function hint(area: Area | null, marks: readonly number[]): string {
  if (area) return texts.selected(duration(Math.round(area.stop - area.start)));
  const [before, last] = marks.slice(-2);
  if (before === undefined || last === undefined) return texts.hint;
  return texts.apart(duration(Math.abs(last - before)));
}

function savePicture(page: HTMLElement | null, camera: Camera, { place }: Selected): void {
  const canvas = page?.querySelector<HTMLCanvasElement>(".timeview>canvas");
  if (!page || !canvas) return;
  const size = span(camera);
  const { width } = canvas.getBoundingClientRect();
  const shown = texts.pictureTitle(timeIn(camera.start, size), timeIn(camera.stop, size));
  const picture = pictureWithLabels(canvas, {
    labels: [...page.querySelectorAll<HTMLElement>(".track-head")],
    title: texts.pictureOf(place.run, place.rank, shown),
    ticks: timeTicks(camera.start, camera.stop, width / 120).map(({ at, label }) => ({
      x: ((at - camera.start) / size) * width,
      label,
    })),
    legend: [...page.querySelectorAll<HTMLElement>(".timelegend>[data-key]")].map((one) => ({
      label: one.textContent.trim(),
      color: getComputedStyle(one.querySelector(".swatch") ?? one).getPropertyValue("--fill"),
    })),
  });
  downloadPicture("timeline.png", picture);
}
