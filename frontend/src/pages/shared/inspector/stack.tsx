// A call stack, a line per frame, the innermost first; the innermost that is not a library's stands out.
import { ownFrame } from "../../../lib/python-stack";
import "./stack.css";

export function Stack({ frames }: { frames: readonly string[] }) {
  const own = ownFrame(frames.join(";"));
  return (
    <ol class="python-stack">
      {frames.map((frame, i) => (
        <li key={i} class={frame === own ? "own" : "muted"}>
          {frame}
        </li>
      ))}
    </ol>
  );
}
