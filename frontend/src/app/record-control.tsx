// "Record now" at the top of every page, while a job of the logdir can be asked for a recording.
import { useEffect, useState } from "preact/hooks";
import { fetchExtras } from "../api/client";
import { extras } from "../state/extras";
import { shown } from "../lib/tensorboard-host";
import { RecordButton } from "../pages/shared/record-button";

const AGAIN_MS = 15_000;

export function RecordControl() {
  return useCanRecord() ? <RecordButton testid="record-now" /> : null;
}

/** Whether a job is running that this page may ask. A server that does not allow it is asked once. */
function useCanRecord(): boolean {
  const [jobs, setJobs] = useState<number | null>(0);
  const visible = shown.value;
  const isAllowed = jobs !== null;
  useEffect(() => {
    if (!isAllowed || !visible) return undefined;
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const look = async (): Promise<void> => {
      try {
        extras.value = await fetchExtras({ signal: ending.signal, hurry: () => false });
        setJobs(extras.value.running_jobs);
      } catch {
        // A server that is gone is reported where its answers are missed.
      }
      if (!ending.signal.aborted) timer = setTimeout(() => void look(), AGAIN_MS);
    };
    void look();
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [isAllowed, visible]);
  return (jobs ?? 0) > 0;
}
