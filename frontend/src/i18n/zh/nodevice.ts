import type { nodevice as english } from "../en/nodevice";

export const nodevice: typeof english = {
  noDeviceTimes: "该 trace 中没有设备时间。",
  hostOnly: "该 trace 中只有主机活动。",
  cpuAlone: "如果本次运行只用了 CPU，则没有缺失任何内容。",
  deviceAfterAll: "确实用了设备？",
  notRecorded: "那么设备活动没有被采集。用以下代码即可采集：",
  why: "默认情况下，torch.profiler 在 PrivateUse1 设备上只记录主机时间：它从不调用后端的 ProfilerStubs，因此 trace 中没有任何设备时间。",
  changeCapture: "将采集代码改为以下几行；它们接受 torch.profiler.profile 的参数：",
  follows: "以下内容是主机的活动。",
};
