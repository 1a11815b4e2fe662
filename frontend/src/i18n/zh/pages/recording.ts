// Chinese texts of en/pages/recording.
import { spaced } from "../../han";
import type * as english from "../../en/pages/recording";
import type { Translation } from "../../translation";

export const recording: Translation<typeof english.recording> = {
  title: "采集信息",
  sectionsLabel: "本页的各部分",
  sections: {
    recorded: "采集内容",
    quality: "数据质量",
    method: "推断方法",
    about: "关于此 trace",
  },
  options: "采集选项",
  device: "设备",
  extent: "时间范围",
  extents: { host: "主机", device: "设备" },
  fromTo: (start, end) => `${start} 至 ${end}`,
  events: "事件",
  eventsNote: "按类别，以文件中的写法为准",
  category: "类别",
  share: "占全部事件",
  noCategory: "（无）",
  files: "文件",
  thisTrace: "trace 文件",
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
  sidecar: "设备耗时记录",
  inSidecar: "在 sidecar 文件中",
  noSidecar: "没有 sidecar 文件",
  engine: "读取程序",
  build: "构建",
};
