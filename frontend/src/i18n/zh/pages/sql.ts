// Chinese texts of en/pages/sql.
import { count } from "../../count";
import type * as english from "../../en/pages/sql";
import type { Translation } from "../../translation";

export const sql: Translation<typeof english.sql> = {
  examples: {
    kernels: "按时间排列 kernel",
    operators: "按设备时间排列算子",
    waiting: "下发之后的等待",
    evidence: "时间的可靠程度",
  },
  off: "该服务器不接受 SQL 查询",
  offWhy:
    "本机以外也能访问该服务器，任何看到此页面的人都可能占用其处理器。若要允许，请这样启动 TensorBoard：",
  orAsk: "也可以在命令行中查询：",
  missing: "SQL 需要 DuckDB",
  missingWhere: "运行 TensorBoard 的环境中没有安装它：",
  queryOf: (run, rank) => `查询 ${run}，rank ${rank}`,
  run: "运行",
  runHelp: "运行（Ctrl+Enter）",
  nothingYet: "运行一个查询或某个示例：Ctrl+Enter。查询只读取所选的 trace，不会作任何修改。",
  tables: "表格与列",
  columns: (columns) => `${count(columns)} 列`,
  insert: (name) => `将 ${name} 插入查询`,
  row: { noun: "行", nouns: "行" },
  took: (ms) => `${count(ms)} ms`,
  firstRows: (rows, ms) => `前 ${count(rows)} 行，${count(ms)} ms`,
};
