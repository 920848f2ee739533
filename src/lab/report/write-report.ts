import { foreign } from '../../base/text/foreign-text.ts'
import type { LoadResult } from '../load/results/result.ts'
import { chartsOf } from './chart-data.ts'
import { embeddedJson, htmlText } from './foreign-text.ts'
import { headHtml, verdictsHtml } from './html-head.ts'
import { runHtml, togetherHtml } from './html-run.ts'
import { pageParts } from './page-parts.ts'
import { type ReportAbout, soleRun, type TitledRun } from './report.ts'

/**
 * A report of one run, or of several beside each other, as one HTML file. It asks for nothing from
 * anywhere, and holds the results themselves as JSON.
 */
export function writeReport(
  given: LoadResult | readonly TitledRun[],
  about: ReportAbout = {},
): string {
  const runs = isRuns(given) ? given : soleRun(given)
  if (runs.length === 0) throw new RangeError('a report needs at least one run')
  const { style, scripts, policy } = pageParts()
  const title = foreign(
    about.title ?? (runs.length === 1 ? 'Load report' : 'Load report, compared'),
  )
  // The policy stands first: it holds for what comes after it.
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
${verdictsHtml(runs, about)}
${togetherHtml(runs)}
${runs.map((run, i) => runHtml(run, i, runs.length > 1)).join('\n')}
</main>
<footer><p class="muted">Made by Squall ${htmlText(foreign(runs[0]!.result.squall, 40))}. The results are in this file as JSON: the element with the id <code>results</code>.</p></footer>
<script type="application/json" id="results">${embeddedJson(runs)}</script>
<script type="application/json" id="charts">${embeddedJson(chartsOf(runs))}</script>
${scripts.map((script) => `<script>${script}</script>`).join('\n')}
</body>
</html>
`
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M9 1 3 9h4l-1 6 7-9H8z' fill='%23b86a00'/%3E%3C/svg%3E"

function isRuns(given: LoadResult | readonly TitledRun[]): given is readonly TitledRun[] {
  return Array.isArray(given)
}
