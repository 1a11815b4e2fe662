// What the timeline's colours tell, and which palette they are of.
import { chooseSafe, safe } from "../palette";
import { go, state } from "../state";
import { t } from "../texts";
import { Popover } from "../widgets/popover";
import type { ColorBy } from "../widgets/scene";
import { Segmented } from "../widgets/segmented";

/** What the URL says; by kind where it says nothing. */
export function colorBy(): ColorBy {
  const told = state.value.colors;
  return told === "name" || told === "module" ? told : "kind";
}

/** `modules`: whether any were recorded. */
export function Colors({ modules }: { modules: boolean }) {
  const by = colorBy();
  const choices = [
    { value: "kind" as const, label: t.timeline.byKind, title: t.timeline.byKindHelp },
    { value: "name" as const, label: t.timeline.byName, title: t.timeline.byNameHelp },
    { value: "module" as const, label: t.timeline.byModule, title: modules ? t.timeline.byModuleHelp : t.timeline.noModules, disabled: !modules },
  ];
  return (
    <Popover label={t.timeline.colors} title={t.timeline.colorsTitle} testid="colors" attributes={{ "data-value": by, "aria-pressed": String(by !== "kind") }}>
      {() => (
        <div class="colorpanel">
          <Segmented label={t.timeline.colorBy} value={by} choices={choices} onPick={(value: ColorBy) => go({ colors: value === "kind" ? null : value }, "replace")} />
          {!modules && <p class="muted">{t.timeline.noModules}</p>}
          {modules && by === "module" && <p class="muted">{t.timeline.outside}</p>}
          <label title={t.timeline.safeHelp}><input type="checkbox" checked={safe.value} data-testid="color-safe" onChange={(e) => chooseSafe(e.currentTarget.checked)} /> {t.timeline.safe}</label>
        </div>
      )}
    </Popover>
  );
}
