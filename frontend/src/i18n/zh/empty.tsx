import type { empty as english } from "../en/empty";

export const empty: typeof english = {
  looking: (logdir) => `正在 ${logdir} 中查找 trace…`,
  title: (logdir) => (logdir ? `${logdir} 中还没有 trace` : "logdir 中还没有 trace"),
  what: () => <>torch.profiler 的 trace 是 logdir 下任意文件夹中形如 <code>worker0.1700000000000.pt.trace.json.gz</code> 的文件。训练脚本用以下几行代码即可写出一个：</>,
  again: "页面每隔几秒重新查找一次，一有 trace 就会显示。",
  else: "其他发现",
};
