import type { Agents, Finding } from '#admin-api'
import { htmlText, integerText, markdownText, moment, type Tone, wrapped } from '#base'
import { type Line, span } from '#cli'
import type { Difference } from './compare.ts'

/** What sidecars know about agents, and what differs from saved findings. */
export interface AgentsReport {
  readonly agents: Agents
  /** Undefined where nothing is compared. */
  readonly differences: readonly Difference[] | undefined
}

const TONES: Readonly<Record<Finding['severity'], Tone>> = {
  high: 'bad',
  medium: 'warn',
  low: 'plain',
}
const CHANGES: Readonly<Record<Difference['change'], Tone>> = {
  new: 'bad',
  worse: 'bad',
  untested: 'warn',
  same: 'plain',
  better: 'good',
  gone: 'good',
}
const CALLS = 3

/** Returns the sentence above all others. */
function headOf({ agents, differences }: AgentsReport): string {
  const { total, findings, since, waiting } = agents
  const start = `since ${moment(since ?? '')}`
  const open =
    waiting === 0 ? '' : `; ${integerText(waiting)} faults and errors still wait for a reaction`
  if (differences !== undefined) {
    const bad = differences.filter(isWorse).length
    return `${bad === 0 ? 'No new or worse findings' : `${bad} new or worse`} ${start}${open}.`
  }
  if (total === 0) return `No findings about agents ${start}${open}.`
  const shown = findings.length < total ? `, the ${findings.length} most harmful of` : ':'
  const rest = findings.length < total ? '; --all shows the rest' : ''
  return `What agents did ${start}${shown} ${total} ${total === 1 ? 'finding' : 'findings'}${rest}${open}.`
}

/** Returns true for a difference that fails a gate. */
export function isWorse({ change }: Difference): boolean {
  return change === 'new' || change === 'worse'
}

function itemsOf({ agents, differences }: AgentsReport) {
  if (differences === undefined) {
    return agents.findings.map((finding) => itemOf(finding, TONES[finding.severity]))
  }
  return differences.map(({ change, finding, before, now, chance }) => {
    const shares = `${before.count} of ${before.of} before, ${now.count} of ${now.of} now`
    return itemOf(finding, CHANGES[change], `${change}: ${shares}${chanceText(chance)}`)
  })
}

/** Returns a finding in texts. */
function itemOf(finding: Finding, tone: Tone, change = '') {
  const { sentence, advice, cure, source, client, taskKind, severity, calls } = finding
  const who = source === 'load' ? 'squall load' : (client ?? 'a client without a name')
  const last = calls.slice(-CALLS).map(({ at, task }) => `${(at ?? '').slice(11, 19)} ${task}`)
  const about = `${severity} · ${who} · tasks by ${taskKind} · last calls: ${last.join(', ')}`
  const texts = [change, advice, about, cure?.page ?? ''].filter((text) => text !== '')
  return { sentence, tone, texts }
}

function chanceText(chance: number | null): string {
  if (chance === null) return ''
  return chance < 0.001 ? ' (p < 0.001)' : ` (p = ${chance.toFixed(3)})`
}

/** Returns lines for a terminal of a width. */
export function agentsText(report: AgentsReport, width: number): readonly Line[] {
  const lines: Line[] = wrapped(headOf(report), width).map((text) => [span(text, 'strong')])
  for (const { sentence, tone, texts } of itemsOf(report)) {
    for (const [i, each] of wrapped(sentence, width - 2).entries()) {
      lines.push([span(i === 0 ? '● ' : '  ', tone), span(each, tone)])
    }
    for (const each of texts.flatMap((text) => wrapped(text, width - 2))) {
      lines.push([span(`  ${each}`)])
    }
  }
  return lines
}

export function agentsMarkdown(report: AgentsReport): string {
  const items = itemsOf(report).map(({ sentence, texts }) =>
    [`- **${markdownText(sentence)}**`, ...texts.map(markdownText)].join('  \n  '),
  )
  return `# What agents did\n\n${[markdownText(headOf(report)), ...items].join('\n\n')}\n`
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}li{margin:0 0 1.25rem}p{margin:0}'

export function agentsHtml(report: AgentsReport): string {
  const items = itemsOf(report).map(({ sentence, texts }) => {
    const rest = texts.map((text) => `<p>${htmlText(text)}</p>`).join('')
    return `<li><p><strong>${htmlText(sentence)}</strong></p>${rest}</li>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What agents did · Squall</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>What agents did</h1>
<p>${htmlText(headOf(report))}</p>
<ol>${items.join('\n')}</ol>
</main>
</body>
</html>
`
}
