import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { sharedFile } from '#admin-api'
import { foreign, htmlText } from '#base'
import { embeddedJson } from './embedded-json.ts'

export const MARK =
  '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M9 1 3 9h4l-1 6 7-9H8z"/></svg>'

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M9 1 3 9h4l-1 6 7-9H8z' fill='%23b86a00'/%3E%3C/svg%3E"

/** The parts of a page; header and main are HTML. */
export interface PageParts {
  readonly header: string
  readonly main: string
  /** The version of Squall. */
  readonly squall: string
  /** The results, which the page contains as JSON. */
  readonly results: unknown
  /** The data of the charts; without it the page has no scripts. */
  readonly charts?: unknown
}

/** Renders a self-contained HTML file that includes the results as JSON. */
export function htmlPage(
  title: string,
  { header, main, squall, results, charts }: PageParts,
): string {
  const { style, scripts, policy } = pageFiles(charts !== undefined)
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
${header}
<main>
${main}
</main>
<footer><p class="muted">Made by Squall ${htmlText(foreign(squall, 40))}. The results are in this file as JSON: the element with the id <code>results</code>.</p></footer>
<script type="application/json" id="results">${embeddedJson(results)}</script>
${charts === undefined ? '' : `<script type="application/json" id="charts">${embeddedJson(charts)}</script>\n`}${scripts.map((script) => `<script>${script}</script>`).join('\n')}
</body>
</html>
`
}

const STYLES = ['report.css', 'tables.css', 'print.css'] as const
const SCRIPTS = ['format.js', 'charts.js'] as const

/** Reads the embedded parts of the page, and makes the policy that forbids all other code. */
function pageFiles(hasCharts: boolean) {
  const style = unix(
    [sharedFile('uplot.css'), sharedFile('base.css'), ...STYLES.map(own)].join('\n'),
  )
  const shared = hasCharts ? [sharedFile('uplot.js'), sharedFile('plot.js')] : []
  const scripts = [...shared, ...(hasCharts ? SCRIPTS.map(own) : [])].map(unix)
  for (const text of [style, ...scripts]) {
    // A part must not contain the end tag of its element.
    if (/<\/(script|style)|<!--/i.test(text)) throw new Error('a part of the page ends its element')
  }
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.map(hash).join(' ') || "'none'"}`,
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
