// @vitest-environment happy-dom
// The dialog of recordings on demand: what it offers, asks for and says, whatever the server answers.
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RequestState, RunningJob } from "../../../src/api/types";
import { RecordDialog } from "../../../src/pages/shared/record-dialog";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import { follow } from "../../../src/state/url";

follow(PAGE_KEYS);

const job = (more: Partial<RunningJob> = {}): RunningJob => ({
  job: "run",
  backend: "acme",
  processes: 2,
  least_step: 1000,
  greatest_step: 1001,
  step_ns: 500_000_000,
  listed: [0, 1].map((rank) => ({
    rank,
    worker: `host_${rank}`,
    host: "host",
    state: "ready",
    step: 1000 + rank,
    phase: null,
    error: null,
  })),
  request: null,
  ...more,
});

const request = (more: Partial<RequestState> = {}): RequestState => ({
  id: "ab",
  by: "TensorBoard",
  steps: 3,
  from_step: 1010,
  is_pending: true,
  is_done: false,
  phases: [{ phase: "asked", processes: 2 }],
  recorded: null,
  ...more,
});

interface Sent {
  url: string;
  method: string;
  type: string | undefined;
  body: unknown;
}

/** What the server answers now, and what was sent. */
let jobs: RunningJob[] = [];
let refusal: { status: number; code: string } | null = null;
let sent: Sent[] = [];
let allowed = true;
let root: HTMLElement;

beforeEach(() => {
  [jobs, refusal, sent, allowed] = [[], null, [], true];
  vi.useFakeTimers();
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    const headers = init.headers as Record<string, string>;
    const body: unknown = init.body ? JSON.parse(init.body as string) : null;
    sent.push({ url, method: init.method ?? "", type: headers["Content-Type"], body });
    const refused = init.method === "POST" ? refusal : null;
    const answer = refused
      ? { error: { code: refused.code, message: `no: ${refused.code}`, hint: "so." } }
      : init.method === "POST"
        ? { job: "run", id: "ab", canceled: true }
        : url.includes("extras")
          ? { running_jobs: allowed ? jobs.length : null }
          : { jobs, warnings: [] };
    return Promise.resolve(new Response(JSON.stringify(answer), { status: refused?.status ?? 200 }));
  });
  root = document.body.appendChild(document.createElement("div"));
});

afterEach(async () => {
  // What was asked for last is kept beyond the dialog.
  jobs = [job({ request: request({ is_done: true }) })];
  await pass(2000);
  await act(() => find("record-again")?.click());
  await act(() => render(null, root));
  root.remove();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const find = (id: string): HTMLElement | null => root.querySelector(`[data-testid=${id}]`);
/** Lets time pass, and what follows from it: an answer, an effect, the next question. */
const pass = async (ms: number): Promise<void> => {
  for (const part of [ms, 20, 20, 20])
    await act(async () => {
      await vi.advanceTimersByTimeAsync(part);
    });
};
const shows = async (close = (): void => undefined): Promise<void> => {
  await act(() => render(<RecordDialog close={close} />, root));
  await pass(0);
};
const posts = (): Sent[] => sent.filter((one) => one.method === "POST");
const submit = async (): Promise<void> => {
  await act(() => {
    (find("record-form") as HTMLFormElement).dispatchEvent(new Event("submit", { cancelable: true }));
  });
  await pass(0);
};

test("a job is asked for what the form says", async () => {
  jobs = [job()];
  await shows();
  expect(find("record-about")?.textContent).toBe(
    "run: 2 processes, at steps 1,000 to 1,001, 500 ms per step",
  );
  await act(() => {
    for (const [id, value] of [
      ["record-steps", "5"],
      ["record-ranks", " 0-1 "],
    ]) {
      const input = find(id ?? "") as HTMLInputElement;
      input.value = value ?? "";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    const shapes = find("record-shapes") as HTMLSelectElement;
    shapes.value = "yes";
    shapes.dispatchEvent(new Event("change", { bubbles: true }));
  });
  jobs = [job({ request: request() })];
  await submit();
  expect(posts()).toHaveLength(1);
  expect(posts()[0]?.type).toBe("application/json");
  expect(posts()[0]?.body).toEqual({
    job: "run",
    steps: 5,
    warmup: 1,
    ranks: "0-1",
    shapes: true,
    stacks: null,
    memory: null,
  });
  expect(find("record-progress")?.dataset["done"]).toBe("false");
  expect(sent.at(-1)?.url).toContain("record/jobs?job=run&id=ab");
  expect(find("record-progress")?.textContent).toContain("3 steps, from step 1,010 on, asked by TensorBoard");
});

test("the progress is renewed until there is a recording to open", async () => {
  jobs = [job({ request: request() })];
  await shows();
  const status = () => root.querySelector("[role=status]")?.textContent;
  expect(status()).toBe("0 of 2 ranks written, 2 not reached yet");
  const phases = [
    { phase: "written", processes: 1 },
    { phase: "failed", processes: 1 },
  ];
  await submitted();
  jobs = [
    job({
      request: request({ phases, is_done: true }),
      listed: [{ ...(job().listed[1] as RunningJob["listed"][0]), phase: "failed", error: "no space" }],
    }),
  ];
  await pass(1000);
  expect(status()).toBe("1 of 2 ranks written, 1 failed");
  expect(find("record-processes")?.textContent).toContain("no space");
  expect(find("record-progress")?.textContent).toContain("and 1 more process");
  expect(find("record-open-new")).toBeNull();
  jobs = [job({ request: request({ phases, is_done: true, recorded: { run: "run", rank: 0, span: 2 } }) })];
  await pass(1000);
  expect(find("record-open-new")?.getAttribute("href")).toContain("run=run");
  await act(() => find("record-again")?.click());
  expect(find("record-form")).not.toBeNull();
});

/** Asks by way of the form, so that the request is this page's. */
async function submitted(): Promise<void> {
  jobs = [job()];
  await pass(1000);
  jobs = [job({ request: request() })];
  await submit();
}

test("another's request is shown, and can be canceled", async () => {
  jobs = [job({ request: request({ id: "cd", by: "command line" }) })];
  await shows();
  expect(find("record-progress")?.textContent).toContain("asked by command line");
  jobs = [job()];
  await act(() => find("record-cancel")?.click());
  await pass(0);
  expect(posts()[0]?.url).toContain("record/cancel");
  expect(posts()[0]?.body).toEqual({ job: "run", id: "cd" });
  expect(find("record-form")).not.toBeNull();
});

test("a refusal is said beside the form", async () => {
  jobs = [job()];
  refusal = { status: 409, code: "record_pending" };
  await shows();
  await submit();
  expect(find("record-refused")?.textContent).toBe("no: record_pending so.");
  expect(find("record-refused")?.getAttribute("role")).toBe("alert");
  expect((find("record-start") as HTMLButtonElement).disabled).toBe(false);
});

test("without the permission it says how to allow it, and asks no more", async () => {
  allowed = false;
  await shows();
  expect(find("record-off")?.textContent).toContain("TB_PRIVATEUSE1_RECORD=on");
  expect(find("record-off")?.textContent).toContain("tb-privateuse1 record LOGDIR");
  await pass(5000);
  expect(sent.map((one) => one.url)).toEqual([expect.stringContaining("extras")]);
});

test("without a job it says what makes one, and looks again", async () => {
  await shows();
  expect(find("record-no-job")?.textContent).toContain("capture.on_demand");
  jobs = [job({ processes: 1, listed: [] })];
  await pass(1000);
  expect(find("record-form")).not.toBeNull();
  expect(find("record-ranks")).toBeNull();
});

test("one of several jobs is chosen", async () => {
  jobs = [job(), job({ job: "second" }), job({ job: "dead", processes: 0 })];
  await shows();
  const choice = find("record-job") as HTMLSelectElement;
  expect([...choice.options].map((option) => option.value)).toEqual(["run", "second"]);
  await act(() => {
    choice.value = "second";
    choice.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await submit();
  expect(posts()[0]?.body).toMatchObject({ job: "second" });
});
