// A chart as a picture: an SVG with the styles of the page, drawn into a canvas.
import { t } from "../i18n";

/** What of the page's styles a drawing depends on. */
const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "paint-order",
  "text-anchor",
  "shape-rendering",
  "clip-path",
  "display",
  "visibility",
] as const;

const MARGIN = 12;
const SCALE = 2;

/** Draws an SVG on the page's ground, twice as fine as on the screen, below its title. */
export async function pictureOf(svg: SVGSVGElement, title: string): Promise<HTMLCanvasElement> {
  const { width, height } = svg.getBoundingClientRect();
  const copy = withStyles(svg);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const image = new Image();
  const markup = new XMLSerializer().serializeToString(copy);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(markup)}`;
  await image.decode();
  const above = title ? TITLE : 0;
  const [canvas, context] = sheet(width, above + height);
  context.textBaseline = "top";
  write(context, title, document.body, MARGIN, MARGIN);
  context.drawImage(image, MARGIN, MARGIN + above, width, height);
  return canvas;
}

/** What stands around a canvas in its picture. */
interface Around {
  /** Beside it, each as high as it stands on the page. */
  labels?: readonly HTMLElement[];
  title: string;
  /** Above it, in pixels from its left edge. */
  ticks?: readonly { x: number; label: string }[];
  /** Below it, with the color of each. */
  legend?: readonly { label: string; color: string }[];
}

/** A canvas with its labels, title, axis and legend. */
export function pictureWithLabels(
  canvas: HTMLCanvasElement,
  { labels = [], title, ticks = [], legend = [] }: Around,
): HTMLCanvasElement {
  const box = canvas.getBoundingClientRect();
  const above = ticks.length > 0 ? TITLE + AXIS : TITLE;
  const left = Math.max(0, ...labels.map((l) => l.getBoundingClientRect().width));
  const [whole, context] = sheet(left + box.width, above + box.height + (legend.length > 0 ? LEGEND : 0));
  context.textBaseline = "top";
  write(context, title, document.body, MARGIN, MARGIN);
  for (const { x, label } of ticks) {
    write(context, label, document.body, MARGIN + left + x + 3, MARGIN + TITLE);
    context.fillRect(MARGIN + left + x, MARGIN + TITLE, 1, AXIS);
  }
  let at = MARGIN;
  for (const { label, color } of legend) {
    const y = MARGIN + above + box.height + 8;
    context.fillStyle = color;
    context.fillRect(at, y + 2, 10, 10);
    write(context, label, document.body, at + 15, y);
    at += 15 + context.measureText(label).width + 16;
  }
  context.save();
  context.beginPath();
  context.rect(MARGIN, MARGIN + above, left, box.height);
  context.clip();
  for (const label of labels)
    write(
      context,
      (label.querySelector("span") ?? label).textContent.trim(),
      label,
      MARGIN + 4,
      MARGIN + above + label.getBoundingClientRect().top - box.top + 2,
    );
  context.restore();
  context.drawImage(canvas, MARGIN + left, MARGIN + above, box.width, box.height);
  return whole;
}

/** A text in the font and color of an element. */
function write(
  context: CanvasRenderingContext2D,
  text: string,
  from: HTMLElement,
  x: number,
  y: number,
): void {
  const style = getComputedStyle(from);
  context.fillStyle = style.color;
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillText(text, x, y);
}

const [TITLE, AXIS, LEGEND] = [22, 18, 28];

/** A canvas of the page's ground with a margin, on which a unit is a pixel of the page. */
function sheet(width: number, height: number): [HTMLCanvasElement, CanvasRenderingContext2D] {
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil((width + 2 * MARGIN) * SCALE);
  canvas.height = Math.ceil((height + 2 * MARGIN) * SCALE);
  const context = canvas.getContext("2d");
  if (!context) throw new Error(t.png.noCanvas);
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(SCALE, SCALE);
  return [canvas, context];
}

function withStyles(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [own, copied] = [svg, copy].map((root) => [root, ...root.querySelectorAll<SVGElement>("*")]);
  own?.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) copied?.[i]?.style.setProperty(name, style.getPropertyValue(name));
  });
  return copy;
}
