// The selected row of the diff: both traces side by side, and the ways to it in each of them.
import type { DiffRow } from "../../api/types";
import { count, duration, exactDuration, relativeChange, signedDuration } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { nameOf, type Selected } from "../../state/selection";
import { linkProps } from "../../state/links";
import { state } from "../../state/url";
import { compare } from "../../i18n/compare";
import { Inspector } from "../../widgets/inspector/inspector";
import { targetOf, WORDS, type By } from "./rows";

const texts = compare.diffRow;

interface RowPanelProps {
  row: DiffRow;
  by: By;
  other: Selected;
  close: () => void;
}

export function RowPanel({ row, by, other, close }: RowPanelProps) {
  return (
    <Inspector
      testid="diff-row"
      label={texts.label(row.name)}
      kind={texts.kind}
      covered={state.value.event !== null}
      close={close}
    >
      <h2 class="wrap" title={fullName(row)}>
        {nameOf(row.name)}
      </h2>
      <p class="ways">
        <Ways row={row} by={by} other={other} />
      </p>
      <Sides row={row} />
      <p class="muted">{texts.said(WORDS[row.verdict], limits(row))}</p>
      {row.full_name !== null && <p class="wrap muted">{row.full_name}</p>}
      {row.base_name !== null && (
        <p class="wrap muted" data-testid="diff-row-base-name">
          {texts.baseName(row.base_full_name ?? row.base_name)}
        </p>
      )}
      {row.detail !== null && <p class="wrap muted">{row.detail}</p>}
    </Inspector>
  );
}

/** To the row in the new run and in the base. */
function Ways({ row, by, other }: Omit<RowPanelProps, "close">) {
  const { run, rank, span, step } = other.place;
  return (
    <>
      {row.now_calls > 0 && (
        <a {...linkProps(targetOf(row, by, "now"))} data-testid="diff-row-now">
          {texts.inNew}
        </a>
      )}
      {row.base_calls > 0 && (
        <a
          {...linkProps({ ...targetOf(row, by, "base"), run, rank, span, step })}
          data-testid="diff-row-base"
        >
          {texts.inBase}
        </a>
      )}
    </>
  );
}

interface Line {
  title: string;
  base: string;
  now: string;
  change: string;
  exact?: string;
}

function Sides({ row }: { row: DiffRow }) {
  return (
    <table class="plain" data-testid="diff-row-sides">
      <thead>
        <tr>
          <td />
          <th class="number">{texts.base}</th>
          <th class="number">{texts.now}</th>
          <th class="number">{texts.change}</th>
        </tr>
      </thead>
      <tbody>
        {linesOf(row).map((line) => (
          <tr key={line.title}>
            <td>{line.title}</td>
            <td class="number">{line.base}</td>
            <td class="number">{line.now}</td>
            <td class="number" title={line.exact}>
              {line.change}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function linesOf(row: DiffRow): Line[] {
  const share = row.change_share === null ? "" : ` (${relativeChange(row.change_share)})`;
  const lines: (Line | false)[] = [
    {
      title: texts.time,
      base: duration(row.base_ns),
      now: duration(row.now_ns),
      change: `${signedDuration(row.change_ns)}${share}`,
      exact: exactDuration(row.change_ns),
    },
    {
      title: texts.calls,
      base: calls(row.base_calls),
      now: calls(row.now_calls),
      change: signed(row.now_calls - row.base_calls, calls),
    },
    rate(texts.tflops, row.base_tflop_per_s, row.now_tflop_per_s),
    rate(texts.gigabytes, row.base_gb_per_s, row.now_gb_per_s),
  ];
  return lines.filter((line) => line !== false);
}

function rate(title: string, base: number | null, now: number | null): Line | false {
  if (base === null && now === null) return false;
  const shown = (value: number | null): string => (value === null ? "–" : value.toPrecision(3));
  const change = base === null || now === null ? "–" : signed(now - base, (n) => n.toPrecision(3));
  return { title, base: shown(base), now: shown(now), change };
}

/** With its sign, like times. */
const signed = (n: number, shown: (size: number) => string): string =>
  n === 0 ? shown(n) : `${n < 0 ? "−" : "+"}${shown(Math.abs(n))}`;

/** Per step, so that it may be a fraction. */
export const calls = (n: number): string => (Number.isInteger(n) ? count(n) : n.toPrecision(3));

const limits = ({ noise_ns: noise, bound_ns: bound }: DiffRow): string[] => [
  ...(noise ? [texts.noise(duration(noise))] : []),
  ...(bound ? [texts.bound(duration(bound))] : []),
];
