// The cells of relative changes, in all tables of the diff.
import { relativeChange } from "../../lib/format";

export const RELATIVE = {
  cell: (row: { change_share: number | null }) => (
    <span class="value">{relativeChange(row.change_share)}</span>
  ),
};
