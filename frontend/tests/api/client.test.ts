import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { inTensorBoard } from "../support/browser";

let api: typeof import("../../src/api/client");
let host: typeof import("../../src/lib/tensorboard-host");
const asked: string[] = [];
const PLACE = { run: "a/b", rank: 0, span: 1, step: null };
const PROGRESS = { phase: "reading", bytes_done: 1, bytes_total: 2, events: 3, seconds_left: null };

function answers(...list: (Response | Error | (() => Promise<Response>))[]): void {
  vi.stubGlobal("fetch", (url: string, { signal, method }: { signal: AbortSignal; method: string }) => {
    asked.push(method === "GET" ? url : `${method} ${url}`);
    const next = list.shift();
    if (next === undefined)
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error)),
      );
    if (typeof next === "function") return next();
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  });
}
const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
const signal = () => new AbortController().signal;

beforeEach(async () => {
  vi.resetModules();
  asked.length = 0;
  inTensorBoard("http://host/prefix/");
  vi.useFakeTimers();
  api = await import("../../src/api/client");
  host = await import("../../src/lib/tensorboard-host");
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("addresses are relative to the page, so that a path prefix works", () => {
  expect(api.address("runs", { a: null, b: "x y&z", c: 0 })).toBe(
    "http://host/prefix/data/plugin/privateuse1/runs?b=x+y%26z&c=0",
  );
});

test("a result", async () => {
  answers(json({ rows: [] }));
  expect(await api.fetchView("kernels", PLACE, { group: "name" }, { signal: signal() })).toEqual({
    rows: [],
  });
  expect(asked).toEqual([
    "http://host/prefix/data/plugin/privateuse1/kernels?run=a%2Fb&rank=0&span=1&group=name&wait_ms=300",
  ]);
});

test("202 is asked again, not at once, and its progress is told", async () => {
  answers(json(PROGRESS, 202), json({ ...PROGRESS, phase: "storing" }, 202), json({ rows: [] }));
  const phases: string[] = [];
  const result = api.fetchView(
    "kernels",
    PLACE,
    {},
    { signal: signal(), onProgress: (p) => phases.push(p.phase) },
  );
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(600);
  expect(await result).toEqual({ rows: [] });
  expect(phases).toEqual(["reading", "storing"]);
});

describe("what can wait lets others go before", () => {
  const quiet = { signal: signal(), hurry: () => false };
  const base = "http://host/prefix/data/plugin/privateuse1/";
  const names = (): string[] => asked.map((url) => url.slice(base.length).split("?")[0] ?? "");
  test("until all of them are there", async () => {
    let arrive: (response: Response) => void = () => undefined;
    answers(
      () =>
        new Promise((resolve) => {
          arrive = resolve;
        }),
      json({ later: 1 }),
    );
    const later = api.fetchView("overview", PLACE, {}, quiet);
    const first = api.fetchView("timeline", PLACE, {}, { signal: signal() });
    await vi.advanceTimersByTimeAsync(2000);
    expect(names()).toEqual(["timeline"]);
    arrive(json({ first: 1 }));
    expect(await first).toEqual({ first: 1 });
    await vi.advanceTimersByTimeAsync(500);
    expect(names()).toEqual(["timeline", "overview"]);
    expect(await later).toEqual({ later: 1 });
  });
  test("but not for ever", async () => {
    answers(() => new Promise(() => undefined), json({ later: 1 }));
    void api.fetchView("timeline", PLACE, {}, { signal: signal() });
    const later = api.fetchView("overview", PLACE, {}, quiet);
    await vi.advanceTimersByTimeAsync(6000);
    expect(await later).toEqual({ later: 1 });
  });
  test("and not if somebody needs it now, or nobody does any more", async () => {
    answers(() => new Promise(() => undefined), json({ now: 1 }));
    void api.fetchView("timeline", PLACE, {}, { signal: signal() });
    let hurry = false;
    const needed = api.fetchView("overview", PLACE, {}, { signal: signal(), hurry: () => hurry });
    const own = new AbortController();
    const left = expect(
      api.fetchView("kernels", PLACE, {}, { ...quiet, signal: own.signal }),
    ).rejects.toThrow();
    own.abort();
    hurry = true;
    await vi.advanceTimersByTimeAsync(100);
    expect(await needed).toEqual({ now: 1 });
    await left;
    expect(names()).toEqual(["timeline", "overview"]);
  });
});

describe("failures have words", () => {
  const failure = async (): Promise<InstanceType<typeof api.Failure>> => {
    try {
      await api.fetchView("overview", PLACE, {}, { signal: signal() });
    } catch (error) {
      if (error instanceof api.Failure) return error;
      throw error;
    }
    throw new Error("it did not fail");
  };
  test.each([400, 404, 422])("the server's own, with %i", async (status) => {
    answers(
      json({ error: { code: "unknown_step", message: "There is no step 9.", hint: "It has: 1." } }, status),
    );
    expect(await failure()).toMatchObject({
      code: "unknown_step",
      message: "There is no step 9.",
      hint: "It has: 1.",
      status,
    });
  });
  test("an answer of something else", async () => {
    answers(new Response("<h1>Bad gateway</h1>", { status: 502 }));
    expect(await failure()).toMatchObject({ code: "http_502", status: 502 });
  });
  test("200 that is no JSON", async () => {
    answers(new Response("hello"));
    expect(await failure()).toMatchObject({ code: "http_200" });
  });
  test("no answer", async () => {
    answers(new TypeError("Failed to fetch"));
    expect(await failure()).toMatchObject({ code: "network", status: null });
  });
  test("no answer for a minute", async () => {
    answers(new DOMException("signal timed out", "TimeoutError"));
    expect(await failure()).toMatchObject({ code: "timeout", status: null });
  });
});

test("a changed selection ends the polling", async () => {
  answers(json(PROGRESS, 202), json({ rows: [] }));
  const controller = new AbortController();
  const result = api.fetchView("kernels", PLACE, {}, { signal: controller.signal });
  await vi.advanceTimersByTimeAsync(10);
  controller.abort();
  await expect(result).rejects.toMatchObject({ name: "AbortError" });
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked).toHaveLength(1);
});

describe("cancelling", () => {
  test("is a POST about the trace, whatever the step", async () => {
    answers(json({ canceled: true }));
    expect(await api.cancelReading({ ...PLACE, step: 3 })).toBe(true);
    expect(asked).toEqual(["POST http://host/prefix/data/plugin/privateuse1/cancel?run=a%2Fb&rank=0&span=1"]);
  });
  test("that was too late", async () => {
    answers(json({ canceled: false }));
    expect(await api.cancelReading(PLACE)).toBe(false);
  });
  test("that fails has words", async () => {
    answers(json({ error: { code: "unknown_run", message: "There is no run a/b.", hint: null } }, 404));
    await expect(api.cancelReading(PLACE)).rejects.toMatchObject({ code: "unknown_run", status: 404 });
  });
});

test("a hidden page asks nothing", async () => {
  answers(json({ rows: [] }));
  host.shown.value = false;
  const result = api.fetchView("kernels", PLACE, {}, { signal: signal() });
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked).toHaveLength(0);
  host.shown.value = true;
  expect(await result).toEqual({ rows: [] });
});
