// A button that downloads the chart beside it as a picture.
import { useContext } from "preact/hooks";
import { downloadPicture } from "../../lib/dom";
import { pictureOf } from "../../lib/png";
import { t } from "../../i18n";
import { WindowContext, windowLine } from "../window-context";
import "./png-button.css";

/** `around` is what the chart's SVG is in. */
export function PngButton({
  name,
  around,
}: {
  name: string;
  around: { readonly current: HTMLElement | null };
}) {
  const windows = useContext(WindowContext);
  const save = async (): Promise<void> => {
    const svg = around.current?.querySelector("svg");
    if (svg) downloadPicture(`${name}.png`, await pictureOf(svg, windowLine(windows)));
  };
  return (
    <button
      type="button"
      class="quiet png"
      data-testid={`png-${name}`}
      title={t.png.save}
      onClick={() => void save()}
    >
      PNG
    </button>
  );
}
