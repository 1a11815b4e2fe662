import type { MemoryCategory } from "../../api/types";

type Told = { label: string; title: string };

export const memorycategories: Record<MemoryCategory["category"], Told> = {
  parameters: { label: "Parameters", title: "Parameters and buffers of modules." },
  optimizer_state: { label: "Optimizer state", title: "Allocated in the optimizer's step and alive after it." },
  gradients: { label: "Gradients", title: "Of parameters: allocated in the backward pass and alive after it." },
  activations: { label: "Activations", title: "Allocated in the forward pass and alive after their operator." },
  inputs: { label: "Inputs", title: "From the data loader, or made before the forward pass begins." },
  temporaries: { label: "Temporaries", title: "Gone with the operator, the backward pass or the optimizer's step that they were allocated in." },
  unknown: { label: "Unknown", title: "No rule says what this is for." },
};
