// The tables by axis of parallelism, process group, node, pipeline stage and exchange of experts.
import type { ComponentChildren } from "preact";
import type { Distributed as Result } from "../../api/types";
import type { tableInUrl } from "../../state/table-in-url";
import { parallelism } from "../../i18n/parallelism";
import { Table } from "../../widgets/table/table";
import { axisColumns, GROUP_COLUMNS } from "./axes";
import { EXPERT_COLUMNS } from "./experts";
import { NODE_COLUMNS } from "./nodes";
import { NotListed } from "../shared/not-listed";
import { STAGE_COLUMNS } from "./pipeline";

export const PARALLEL = ["axes", "nodes", "stages", "experts", "groups"] as const;

const { nouns, noGroups, someGroups } = parallelism;

interface Props {
  result: Result;
  shown: (typeof PARALLEL)[number];
  shared: ReturnType<typeof tableInUrl> & { inferred: boolean };
  choice: ComponentChildren;
}

export function ParallelTable({ result, shown, shared, choice }: Props) {
  const props = { ...shared, key: shown, name: shown, ...nouns[shown] };
  switch (shown) {
    case "axes":
      return <Axes props={props} rows={result.axes} choice={choice} />;
    case "nodes":
      return (
        <Table
          {...props}
          columns={NODE_COLUMNS}
          rows={result.nodes}
          rowKey={(n) => n.host}
          defaultSort="host"
        >
          {choice}
        </Table>
      );
    case "stages":
      return (
        <Table
          {...props}
          columns={STAGE_COLUMNS}
          rows={result.stages}
          rowKey={(s) => `${s.axis} ${s.stage} ${s.ranks}`}
          defaultSort="stage"
        >
          {choice}
        </Table>
      );
    case "experts":
      return (
        <Table
          {...props}
          columns={EXPERT_COLUMNS}
          rows={result.experts}
          rowKey={(e) => `${e.group} ${e.ranks ?? ""} ${e.axis}`}
          defaultSort="-imbalance"
        >
          {choice}
        </Table>
      );
    case "groups":
      return <Groups props={props} result={result} choice={choice} />;
  }
}

type TableProps = Props["shared"] & { name: string; noun: string; nouns: string };

function Axes(given: { props: TableProps; rows: Result["axes"]; choice: ComponentChildren }) {
  const { props, rows, choice } = given;
  if (rows.length === 0)
    return (
      <>
        <div class="toolbar">{choice}</div>
        <p class="empty" data-testid="no-axes">
          {noGroups}
        </p>
      </>
    );
  return (
    <Table
      {...props}
      columns={axisColumns(rows)}
      rows={rows}
      rowKey={(a) => `${a.axis} ${a.description ?? ""} ${a.size ?? ""} ${a.stride ?? ""} ${a.evidence}`}
      defaultSort="-exposed_ns"
    >
      {choice}
    </Table>
  );
}

function Groups(given: { props: TableProps; result: Result; choice: ComponentChildren }) {
  const { props, result, choice } = given;
  return (
    <Table
      {...props}
      columns={GROUP_COLUMNS}
      rows={result.groups}
      rowKey={(g) => `${g.name} ${g.ranks ?? ""} ${g.size ?? ""}`}
      defaultSort="-call_ns"
    >
      {choice}
      <NotListed listed={result.groups.length} total={result.groups_total} text={someGroups} />
    </Table>
  );
}
