// The navigation: the rail of entries on the left, and the tabs of the chosen one above its page.
import { useState } from "preact/hooks";
import { store, stored } from "../preference";
import { linkProps } from "../state/links";
import { state } from "../state/url";
import { t } from "../i18n";
import type { Page } from "../pages";
import { absentOf, entriesOf, entryOf, tabsOf, type Known } from "../pages/entries";
import { LinkBar } from "../widgets/controls/link-bar";
import { TourOffer } from "./tour";
import "./navigation.css";

const texts = t.entries;

const COLLAPSED = "rail";

export function Rail({ page, known }: { page: Page; known: Known }) {
  const [collapsed, setCollapsed] = useState(() => stored(COLLAPSED) === "collapsed");
  const toggle = (): void => {
    setCollapsed(!collapsed);
    store(COLLAPSED, collapsed ? "open" : "collapsed");
  };
  const current = entryOf(page.name);
  return (
    <nav class={collapsed ? "rail collapsed" : "rail"} aria-label={t.frame.pages}>
      <LinkBar
        class="entries"
        label={t.frame.pages}
        links={entriesOf(known).map((entry) => ({
          key: entry.name,
          testid: `rail-${entry.name}`,
          link: linkProps({ view: entry.pages[0] ?? null }),
          title: entry.title,
          isCurrent: entry === current,
          children: (
            <>
              <svg viewBox="0 0 16 16" aria-hidden="true">
                <path d={entry.icon} />
              </svg>
              <span>{entry.title}</span>
            </>
          ),
        }))}
      />
      <Absent known={known} />
      <button
        type="button"
        class="quiet collapse"
        onClick={toggle}
        aria-expanded={!collapsed}
        title={collapsed ? t.frame.showNames : t.frame.iconsOnly}
        data-testid="rail-collapse"
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d={collapsed ? "M6 4l4 4-4 4" : "M10 4l-4 4 4 4"} />
        </svg>
      </button>
    </nav>
  );
}

/** What this recording has no page or rows of, and what brings them. */
function Absent({ known }: { known: Known }) {
  const absent = absentOf(known);
  if (absent.length === 0) return null;
  return (
    <p class="absent" data-testid="absent" data-value={absent.map((one) => one.key).join(" ")}>
      {texts.absent}
      {absent.map(({ key, title, to }, i) => (
        <span key={key}>
          {i > 0 && texts.comma}
          <a {...linkProps(to)} title={texts.absentHelp} data-key={key}>
            {title}
          </a>
        </span>
      ))}
    </p>
  );
}

export function Tabs({ page, known }: { page: Page; known: Known }) {
  const entry = entryOf(page.name);
  const groups = entry ? tabsOf(entry, state.value, known) : [];
  if (groups.length === 0) return null;
  return (
    <nav class="page-tabs" aria-label={entry?.title} data-testid="tabs">
      {groups.map(({ label, tabs }, i) => (
        <div key={label} class="group">
          {groups.length > 1 && <span class="muted">{label}</span>}
          <LinkBar
            class="segmented"
            label={label}
            links={tabs.map((tab) => ({
              key: tab.key,
              testid: `${i === 0 ? "tab" : "as"}-${tab.key}`,
              link: linkProps(tab.to),
              isCurrent: tab.isCurrent,
              children: tab.title,
            }))}
          />
        </div>
      ))}
      {entry?.name === "summary" && <TourOffer />}
    </nav>
  );
}
