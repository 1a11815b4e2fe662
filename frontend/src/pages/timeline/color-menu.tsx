// The menu of the timeline's colors: their meaning, and the palette.
import { chooseSafe, safe } from "../../state/palette";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { Popover } from "../../widgets/controls/popover";
import type { ColorBy } from "../../widgets/timeline/scene";
import { Segmented } from "../../widgets/controls/segmented";
import "./color-menu.css";

const texts = t.timeline;

/** What the URL says; by kind where it says nothing. */
export function colorBy(): ColorBy {
  const chosen = state.value.colors;
  return chosen === "name" || chosen === "module" ? chosen : "kind";
}

/** `modules`: whether any were recorded. */
export function ColorMenu({ modules }: { modules: boolean }) {
  const by = colorBy();
  const choices = [
    { value: "kind" as const, label: texts.byKind, title: texts.byKindHelp },
    { value: "name" as const, label: texts.byName, title: texts.byNameHelp },
    {
      value: "module" as const,
      label: texts.byModule,
      title: modules ? texts.byModuleHelp : texts.noModules,
      disabled: !modules,
    },
  ];
  return (
    <Popover
      label={texts.colors}
      title={texts.colorsTitle}
      testid="colors"
      attributes={{ "data-value": by, "aria-pressed": String(by !== "kind") }}
    >
      {() => (
        <div class="colorpanel">
          <Segmented
            label={texts.colorBy}
            value={by}
            choices={choices}
            onPick={(value: ColorBy) => go({ colors: value === "kind" ? null : value }, "replace")}
          />
          {!modules && <p class="muted">{texts.noModules}</p>}
          {modules && by === "module" && <p class="muted">{texts.outside}</p>}
          <label title={texts.safeHelp}>
            <input
              type="checkbox"
              checked={safe.value}
              data-testid="color-safe"
              onChange={(e) => chooseSafe(e.currentTarget.checked)}
            />{" "}
            {texts.safe}
          </label>
        </div>
      )}
    </Popover>
  );
}
