import {
  type ErrorCount,
  type LeftOutTool,
  type LoadResult,
  ORIGINS,
} from '../load/results/result.ts'
import { type Cell, type ReportTable, cell, withoutEmpty } from './report-table.ts'
import { beyondText, marginText } from './gate-words.ts'
import { duration, foreign, gateValue, integerText, latency, moment, percentage } from '#base'
import { toolEndings } from './endings.ts'

const count = (value: number): Cell => cell(integerText(value))
const toned = (value: number, tone: 'injected' | 'real'): Cell =>
  value === 0 ? count(0) : { text: integerText(value), tone }
/** Describes a column of numbers. */
export const number = (name: string) => ({ name, number: true }) as const

/** Limits the rows; the full data is in the report as JSON. */
const MAX_ROWS = 600

/** Tabulates the timeline; undefined when it would be too long. */
export function timeTable({ timeline }: LoadResult): ReportTable | undefined {
  const { points } = timeline
  if (points.length === 0 || points.length > MAX_ROWS) return undefined
  const names = ['Calls', 'OK', 'Injected', 'Real', 'Unattributed', 'Squall’s own', 'Not sent']
  const levels = ['Retries', 'Dropped', 'In flight at the end', 'p50', 'p99']
  return withoutEmpty({
    title: 'Timeline as a table',
    columns: [{ name: 'From' }, ...[...names, ...levels].map(number)],
    rows: points.map((point) => {
      const errors = ORIGINS.map((origin) => point.errors[origin])
      const levelsNow = [point.retries, point.dropped, point.inFlight]
      return [
        cell(`${point.at / 1000} s`),
        ...[point.calls, point.ok, ...errors, ...levelsNow].map(count),
        ...[point.p50, point.p99].map((ms) => cell(latency(ms))),
      ]
    }),
  })
}

/** Tabulates the calls of each tool. */
export function toolTable({ tools }: LoadResult): ReportTable {
  const most = Math.max(1, ...tools.map(({ calls }) => calls))
  const table: ReportTable = {
    title: 'By tool',
    about: 'The length of a bar shows the number of calls; the colours show how the calls ended.',
    columns: [
      { name: 'Tool' },
      { name: 'How its calls ended' },
      ...['Calls', 'OK', 'Success', 'Injected', 'Real', 'Unattributed', 'Squall’s own'].map(number),
      ...['Not sent', 'Wrong', 'Late', 'Retries', 'p50', 'p99'].map(number),
    ],
    rows: tools.map((tool) => {
      const endings = toolEndings(tool)
      const { p50, p99 } = tool.latency.summary
      return [
        cell(foreign(tool.tool)),
        { text: '', bar: { endings, share: tool.calls / most } },
        count(tool.calls),
        count(tool.ok),
        cell(percentage(tool.calls === 0 ? null : tool.ok / tool.calls)),
        toned(endings.injected, 'injected'),
        toned(endings.real, 'real'),
        count(endings.unattributed),
        count(endings.squall),
        count(endings.client),
        count(endings.wrong),
        count(endings.late),
        count(tool.retries),
        cell(latency(p50)),
        cell(latency(p99)),
      ]
    }),
  }
  return withoutEmpty(table, ['Injected', 'Real'])
}

/** Tabulates the effect of each fault, by the markers of its responses. */
export function faultTable({ faults }: LoadResult): ReportTable {
  return {
    title: 'Faults',
    about:
      'Counted per attempt, from the markers on responses. Includes calls that succeeded after a retry, which are not errors. Excludes faults that cut the connection, because they leave no marker.',
    columns: [
      { name: 'Rule' },
      { name: 'Fault' },
      ...['Responses', 'Errors', 'Wrong', 'Unharmed', 'p50', 'p99'].map(number),
      { name: 'Tools' },
    ],
    rows: faults.map(({ rule, fault, seen, errors, wrong, tools, latency: { summary } }) => [
      cell(foreign(rule)),
      cell(foreign(fault)),
      count(seen),
      toned(errors, 'injected'),
      count(wrong),
      count(seen - errors - wrong),
      cell(latency(summary.p50)),
      cell(latency(summary.p99)),
      cell(
        Object.entries(tools)
          .sort(([, a], [, b]) => b - a)
          .map(([tool, times]) => `${foreign(tool, 60)} ${integerText(times)}`)
          .join(', '),
      ),
    ]),
  }
}

const ERROR_WORDS: Readonly<Record<string, string>> = {
  http: 'HTTP status',
  rpc: 'JSON-RPC error',
  tool: 'tool error',
  timeout: 'no response in time',
  reset: 'connection broken',
  refused: 'no connection',
  incomplete: 'response cut off',
  malformed: 'response that is not MCP',
  breaker: 'not sent: circuit breaker open',
}

/** Returns the words for an error, such as `HTTP status 503`. */
function errorWords({ kind, code }: Pick<ErrorCount, 'kind' | 'code'>): string {
  return `${ERROR_WORDS[kind] ?? foreign(kind, 40)}${code === undefined ? '' : ` ${code}`}`
}

const MAX_ERRORS = 50

/** Tabulates the errors of each tool, with what they say. */
export function toolErrorTable({ tools }: LoadResult): ReportTable {
  const all = tools
    .flatMap(({ tool, errors }) => errors.map((error) => ({ tool, ...error })))
    .sort((a, b) => b.count - a.count)
  const left = all.length - MAX_ERRORS
  return {
    title: 'Errors by tool',
    about: `Messages of failed calls, after their retries, without secrets.${left > 0 ? ` ${left} rarer kinds are in the JSON.` : ''}`,
    columns: [
      { name: 'Tool' },
      { name: 'Error' },
      { name: 'Origin' },
      number('Calls'),
      { name: 'Last' },
      { name: 'Message' },
    ],
    rows: all.slice(0, MAX_ERRORS).map((error) => {
      const [newest] = error.samples ?? []
      const messages = (error.samples ?? []).slice(0, 3).map(({ message, trace }) => {
        const where = trace === undefined ? '' : `trace ${foreign(trace, 32)}`
        return [foreign(message, 200), where].filter((text) => text !== '').join(', ')
      })
      return [
        cell(foreign(error.tool)),
        cell(errorWords(error)),
        originCell(error),
        count(error.count),
        cell(newest === undefined ? '' : moment(newest.at)),
        {
          text: messages.filter((text) => text !== '').join(' · '),
          ...(newest?.by !== undefined && { about: foreign(newest.by) }),
        },
      ]
    }),
  }
}

function originCell({ origin }: ErrorCount): Cell {
  return origin === 'injected' || origin === 'real'
    ? { text: origin, tone: origin }
    : cell(foreign(origin, 40))
}

/** Tabulates the errors by kind and origin. */
export function errorTable({ errors, counts }: LoadResult): ReportTable {
  return {
    title: 'Errors',
    about: 'The errors of failed calls, after their retries.',
    columns: [{ name: 'Error' }, { name: 'Origin' }, ...['Calls', 'Share'].map(number)],
    rows: errors.map((error) => [
      cell(errorWords(error)),
      originCell(error),
      count(error.count),
      cell(percentage(counts.calls === 0 ? null : error.count / counts.calls)),
    ]),
  }
}

/** The columns of `gateCells`. */
export const GATE_COLUMNS = [
  { name: 'Gate' },
  number('Measured'),
  ...['Margin', 'Beyond the limit', 'Verdict'].map((name) => ({ name })),
]

/** Tabulates the gates, those that failed first. */
export function gateTable({ slo }: LoadResult): ReportTable {
  const sorted = slo.toSorted((a, b) => Number(a.ok) - Number(b.ok))
  const rows = sorted.map((verdict) => gateCells(verdict))
  return withoutEmpty({ title: 'Gates', columns: GATE_COLUMNS, rows }, ['Measured'])
}

/** Returns the cells of a gate, under a longer name where its own does not say enough. */
export function gateCells(verdict: LoadResult['slo'][number], name = verdict.gate): Cell[] {
  return [
    cell(foreign(name)),
    cell(gateValue(verdict.gate, verdict.measured)),
    cell(foreign(marginText(verdict))),
    cell(foreign(beyondText(verdict))),
    verdict.ok ? { text: '✓ passed', tone: 'good' } : { text: '✗ failed', tone: 'bad' },
  ]
}

/** Tabulates the calls that were due, and the held streams. */
export function arrivalTable({ arrivals, held, tools }: LoadResult): ReportTable {
  const cut = tools
    .filter(({ abandoned }) => abandoned !== undefined)
    .map((tool) => `${foreign(tool.tool, 60)} ${integerText(tool.abandoned!)}`)
  const by = cut.length === 0 ? '' : ` (${cut.join(', ')})`
  const rows: [string, number, string][] = [
    ['Planned', arrivals.planned, 'scheduled calls'],
    ['Started', arrivals.started, 'calls that the client started'],
    ['Dropped', arrivals.dropped, 'not started: too many calls were in flight'],
    ['Late', arrivals.late, 'started more than 50 ms late; measured from the schedule'],
    ['Skipped', arrivals.skipped, 'not sent: the deadline could not be met'],
    [
      'Cut',
      arrivals.abandoned,
      arrivals.hung === undefined
        ? `in flight at the end; counted nowhere else${by}`
        : `in flight at the end; gates count hung calls as timeouts${by}`,
    ],
  ]
  const { missed = 0 } = arrivals
  const meaning = 'not sent while the server hung; gates count these calls as timeouts'
  if (missed > 0) rows.push(['Missed', missed, meaning])
  const streams: typeof rows = [
    ['Streams requested', held.asked, ''],
    ['Streams opened', held.opened, ''],
    ['Streams refused', held.refused, ''],
    ['Streams lost', held.lost, 'ended by the server during the run'],
  ]
  return {
    title: 'Arrivals',
    columns: [{ name: 'Calls' }, { name: 'Count', number: true }, { name: 'Meaning' }],
    rows: [...rows, ...(held.asked > 0 ? streams : [])].map(([name, value, about]) => [
      cell(name),
      count(value),
      cell(about),
    ]),
  }
}

/** Tabulates the target and the options. */
export function runTable({ run, squall }: LoadResult): ReportTable {
  const facts: [string, string][] = [
    ['Server', run.server],
    ['Target', run.target],
    ['Started', moment(run.startedAt)],
    ['Took', duration(run.durationMs)],
    ['Complete', run.complete ? 'yes' : 'no: ended early'],
    ['Model', run.model === 'open' ? 'open: calls arrive at a rate' : 'closed: one after another'],
    ['Client', run.client],
    ['MCP version', run.protocolVersion],
    ['Seed', String(run.seed)],
    ['Squall', squall],
  ]
  if (run.shard !== undefined) facts.push(['Shard', `${run.shard.index} of ${run.shard.count}`])
  if (run.mergedFrom !== undefined) facts.push(['Merged from', `${run.mergedFrom} results`])
  if (run.leftOut !== undefined) facts.push(['Not called', leftOutWords(run.leftOut)])
  for (const [name, value] of Object.entries(run.options)) {
    const text = Array.isArray(value) ? value.join(', ') : String(value)
    if (text !== '') facts.push([name, text])
  }
  return {
    title: 'Options',
    columns: [{ name: 'Option' }, { name: 'Value' }],
    rows: facts.map(([name, value]) => [cell(foreign(name, 60)), cell(foreign(value, 400))]),
  }
}

const MAX_SHOWN = 20
const WORDS = { destructive: 'destructive', not_read_only: 'not read-only', no_hint: 'no hint' }

/** Lists the tools that were not called, with the reasons. */
export function leftOutWords(leftOut: readonly LeftOutTool[]): string {
  const shown = leftOut.slice(0, MAX_SHOWN).map(({ tool, why }) => `${tool} (${WORDS[why]})`)
  if (leftOut.length > MAX_SHOWN) shown.push(`… ${leftOut.length - MAX_SHOWN} more`)
  return shown.join(', ')
}
