// What each tab of the selected interval is given.
import type { Area, Options } from "../../api/types";
import type { Lane } from "./lanes";

export interface AreaTabProps {
  lane: Lane;
  /** Its place among the lanes. */
  at: number;
  options: Options["area"];
  area: Area;
  choose: (tracks: readonly number[] | null) => void;
}
