import { spaced } from "../../han";
import type * as english from "../../en/pages/about";
import type { Translation } from "../../translation";

export const about: Translation<typeof english.about> = {
  findings: "数据疑点",
  deviceTimes: "设备时间",
  files: "文件",
  thisTrace: "此 trace",
  recorded: "采集方式",
  device: "设备",
  run: "运行",
  rank: "Rank",
  rankFrom: (rank, source) => `${rank}，${spaced("来自", source)}`,
  rankSources: {
    metadata: "trace 的 distributedInfo",
    name: "文件名",
    order: "文件的先后顺序：没有其他依据",
  },
  span: "采集段",
  size: "大小",
  written: "写入时间",
  elapsed: "设备耗时记录",
  inSidecar: "在 sidecar 文件中",
  noSidecar: "没有 sidecar 文件",
  engine: "引擎",
};
