// A table in the panel of the selected interval; its order and filter are in the URL.
import { go, state } from "../../state/url";
import { Table, type TableProps } from "../../widgets/table/table";

type AreaTableProps<Row> = Omit<TableProps<Row>, "sort" | "filter" | "onSort" | "onFilter">;

export function AreaTable<Row>(props: AreaTableProps<Row>) {
  return (
    <div class="fill">
      <Table
        {...props}
        sort={state.value.sort}
        filter={state.value.filter}
        onSort={(sort) => go({ sort }, "replace")}
        onFilter={(filter) => go({ filter }, "replace")}
      />
    </div>
  );
}
