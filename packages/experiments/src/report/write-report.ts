import { sharedFile } from '#admin-api'
import { foreign, htmlText } from '#base'
import { chartsOf } from './chart-data.ts'
import { embeddedJson } from './embedded-json.ts'
import { foldedTable, headHtml, runHtml, togetherHtml, verdictsHtml } from './html-parts.ts'
import type { ReportAbout, TitledRun } from './report-table.ts'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Renders one or several runs as a self-contained HTML file that includes the results as JSON. */
export function writeReport(runs: readonly TitledRun[], about: ReportAbout = {}): string {
  if (runs.length === 0) throw new RangeError('a report needs at least one run')
  const { style, scripts, policy } = pageParts()
  const title = foreign(
    about.title ?? (runs.length === 1 ? 'Load report' : 'Load report, compared'),
  )
  // The policy comes first, because it applies to the elements after it.
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${htmlText(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${htmlText(`${title} · Squall`)}</title>
<link rel="icon" href="${ICON}">
<style>${style}</style>
</head>
<body>
${headHtml(runs, title)}
<main>
<noscript><p class="card">The charts need scripts. All numbers are in the tables.</p></noscript>
${mainHtml(runs, about)}
</main>
<footer><p class="muted">Made by Squall ${htmlText(foreign(runs[0]!.result.squall, 40))}. The results are in this file as JSON: the element with the id <code>results</code>.</p></footer>
<script type="application/json" id="results">${embeddedJson(runs)}</script>
<script type="application/json" id="charts">${embeddedJson(chartsOf(runs))}</script>
${scripts.map((script) => `<script>${script}</script>`).join('\n')}
</body>
</html>
`
}

function mainHtml(runs: readonly TitledRun[], about: ReportAbout): string {
  const parts = [togetherHtml(runs), ...runs.map((run, i) => runHtml(run, i, runs.length > 1))]
  if (about.front === undefined) return [verdictsHtml(runs, about), ...parts].join('\n')
  const { front, tables = [] } = about
  const shown = tables.filter(({ rows }) => rows.length > 0)
  return [
    front,
    '<section class="card run"><h2>Evidence</h2>',
    ...shown.map((table, i) => foldedTable(table, `first-${i}`)),
    `<details><summary>The load of each phase</summary>${verdictsHtml(runs)}${parts.join('\n')}</details></section>`,
  ].join('\n')
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M9 1 3 9h4l-1 6 7-9H8z' fill='%23b86a00'/%3E%3C/svg%3E"

const STYLES = ['report.css', 'tables.css', 'print.css'] as const
const SCRIPTS = ['format.js', 'charts.js'] as const

/** Reads the embedded parts of the page, and makes the policy that forbids all other code. */
function pageParts() {
  const style = unix(
    [sharedFile('uplot.css'), sharedFile('base.css'), ...STYLES.map(own)].join('\n'),
  )
  const shared = [sharedFile('uplot.js'), sharedFile('plot.js')]
  const scripts = [...shared, ...SCRIPTS.map(own)].map(unix)
  for (const text of [style, ...scripts]) {
    // A part must not contain the end tag of its element.
    if (/<\/(script|style)|<!--/i.test(text)) throw new Error('a part of the page ends its element')
  }
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.map(hash).join(' ')}`,
    `style-src ${hash(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
  return { style, scripts, policy }
}

function own(name: string): string {
  return readFileSync(new URL(`../report/page/${name}`, import.meta.url), 'utf8')
}

/** HTML parsers normalize line breaks, so the hash needs the normalized text. */
function unix(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n')
}

function hash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
