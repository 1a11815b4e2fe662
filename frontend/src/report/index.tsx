// Starts a report: one file, read from the disk, without a server.
import "../app/theme.css";
import "../app/common.css";
import { render } from "preact";
import { PAGE_KEYS, OLD_PAGES } from "../pages/url-keys";
import { leadLinks } from "../state/links";
import { follow } from "../state/url";
import { ErrorBoundary } from "../pages/shared/load-states";
import { readData } from "./data";
import { DiffReport } from "./diff-report";
import { connectTheme } from "./theme";
import { TraceReport } from "./trace-report";
import { waysOf } from "./ways";
import "./report.css";

const data = readData();
const root = document.getElementById("report");
connectTheme();
leadLinks(waysOf(data));
follow(PAGE_KEYS, OLD_PAGES);
if (root)
  render(
    <ErrorBoundary>
      {data.trace && <TraceReport data={data} trace={data.trace} />}
      {data.diff && <DiffReport data={data} diff={data.diff} />}
    </ErrorBoundary>,
    root,
  );
