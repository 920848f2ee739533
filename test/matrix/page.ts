import { isDeepStrictEqual } from 'node:util'
import { NOT_APPLICABLE } from '../../src/filters/lib/not-applicable.ts'
import { alignedTable } from '../faults/aligned-table.ts'
import { type AnyClient, expectedOf } from './measured.ts'
import { MESSAGE_ROWS } from './message-rows.ts'
import { CLIENTS, clientsOf, SETTINGS, type SettingId } from './settings.ts'
import { realOf, type Observed, type Variant } from './variant.ts'
import { predictionOf } from './variants.ts'

const SERVERS = [
  ['transport', 'meaning'],
  [
    'JSON',
    'Streamable HTTP with sessions and protocol version 2025-11-25; each call gets a JSON body',
  ],
  ['SSE', 'like JSON, but each call gets an event stream with progress, then the response'],
  ['SSE with ids', 'like SSE, but events have IDs, so clients can resume the stream'],
  ['HTTP+SSE', 'the transport of protocol version 2024-11-05: all responses arrive on one stream'],
  ['2026 JSON, 2026 SSE', 'Streamable HTTP with protocol version 2026-07-28'],
]

const COLUMNS = [
  ['column', 'meaning'],
  ['fault', 'parameters of the fault'],
  ['transport', 'transport and response format of the server, listed below'],
  ['v1, v2', 'report of the TypeScript SDK v1 or v2'],
  [
    'v2 auto',
    "report of v2 with `versionNegotiation: { mode: 'auto' }`; only this TypeScript client uses protocol version 2026-07-28",
  ],
  ['Python', 'report of the Python SDK; not measured for HTTP+SSE'],
  ['executed', 'how often the upstream executed the call'],
  ['counted', 'outcome and origin in Squall; `open`: the response may still arrive'],
  ['next', 'result of the next call, which has no fault'],
  ['real', '`same`: clients report the same error for a real server failure of this kind'],
]

const REPORTS = [
  ['report', 'meaning'],
  ['`ok`, `tool error`', 'a result'],
  ['_changed_', 'a valid result that differs from the result of the upstream'],
  ['_complains_', 'the client also reported an error outside the call'],
  ['_client dies_', 'the whole Python client terminated with an error'],
  [
    'anything else',
    'an exception: its class, and its status, code or message; `timeout`: that of the client',
  ],
]

const INTRO = `<!-- Generated from test/matrix/measured.json: npm run generate -->

# Errors that MCP clients report for each fault

Look up the error that the MCP SDKs for TypeScript and Python report for each fault. The tables were measured with real SDK clients and servers, and with shortened client timeouts. Faults: FAULT_INDEX.

## How to read the tables

${alignedTable(COLUMNS)}

_Executed_, _counted_ and _next_ were measured with the TypeScript clients. A fault that cannot act on a response leaves the response unchanged, and counts as \`not_applicable\`.

${alignedTable(SERVERS)}

${alignedTable(REPORTS)}
`

/** The page that shows the matrix. */
export function matrixPage(variants: readonly Variant[]): string {
  const faults = [...new Set(variants.map(({ fault }) => fault))]
  const sections = faults.map((fault) => {
    const notes: string[] = []
    const lines = variants
      .filter((one) => one.fault === fault)
      .flatMap((variant) => rowsOf(variant).map((row) => cellsOf(variant, row, notes)))
    const markers = notes.map((note, index) => `${index + 1}. ${note}`)
    const head = 'fault,transport,v1,v2,v2 auto,Python,executed,counted,next,real'.split(',')
    return `## ${fault}

${alignedTable([head, ...lines])}
${markers.length === 0 ? '' : `\n${markers.join('\n')}\n`}`
  })
  const index = faults.map((fault) => `[${fault}](#${fault.toLowerCase()})`).join(', ')
  return `${INTRO.replace('FAULT_INDEX', index)}\n${sections.join('\n')}${messageSection()}`
}

/** Writes the table of messages that are no calls. */
function messageSection(): string {
  const lines = MESSAGE_ROWS.map(({ fault, match, reports }) => [
    `\`${fault}\``,
    `\`${match}\``,
    reports,
  ])
  return `
## Messages other than calls

The table shows what SDK v1, SDK v2 and the Python SDK report with the reference server. Reports are the same over Streamable HTTP and HTTP+SSE. [Messages that each fault acts on](reach.md) covers all faults.

${alignedTable([['fault', 'rule', 'the client reports'], ...lines])}
`
}

/** Settings in which the TypeScript clients report the same. */
interface Row {
  readonly in: SettingId[]
  readonly reports: Partial<Record<AnyClient, Observed>>
  readonly real: string | undefined
  readonly note: string | undefined
}

function rowsOf(variant: Variant): readonly Row[] {
  const rows: Row[] = []
  for (const setting of SETTINGS) {
    const { id } = setting
    const reports = Object.fromEntries(
      clientsOf(setting).map((client) => [client, expectedOf(variant, id, client)]),
    ) as Row['reports']
    const note = noteOf(variant, id, reports.auto)
    const real = realOf(variant, id)
    const row = rows.find(
      (each) =>
        each.note === note &&
        each.real === real &&
        isDeepStrictEqual({ ...each.reports, ...reports }, each.reports),
    )
    if (row === undefined) rows.push({ in: [id], reports, real, note })
    else row.in.push(id)
  }
  return rows
}

/** Returns what explains a result. */
function noteOf(
  variant: Variant,
  setting: SettingId,
  seen: Observed | undefined,
): string | undefined {
  const { notes } = variant
  const note = notes?.[setting] ?? notes?.all
  if (note !== undefined || seen?.rule !== 'not_applicable') return note
  const text = NOT_APPLICABLE[predictionOf(variant, setting).reason ?? 'nothing_to_act_on']
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`
}

function cellsOf(variant: Variant, row: Row, notes: string[]): readonly string[] {
  const { fault, form, method, before } = variant
  const titles = SETTINGS.filter(({ id }) => row.in.includes(id)).map(({ title }) => title)
  const seen = CLIENTS.flatMap((client) => row.reports[client] ?? [])
  const each = (of: (observed: Observed) => string | number): string =>
    [...new Set(seen.map(of))].join(', ')
  const isApplied = seen.every(({ rule }) => rule === 'injected')
  const what = `\`${form.slice(fault.length + 2)}\`${method ? ` of \`${method}\`` : ''}${
    before === 'list' ? ', tools listed before' : before === 'call' ? ', second call' : ''
  }`
  const real = row.real !== undefined && isApplied ? 'same' : '–'
  return [
    what,
    titles.length === SETTINGS.length ? 'all' : titles.join(', '),
    ...CLIENTS.map((client) => row.reports[client]?.says ?? '–'),
    pythonSays(variant, row),
    each(({ ran }) => ran),
    each(({ counted, rule }) =>
      rule === 'not_applicable' ? `${counted}, not_applicable` : counted,
    ),
    each(({ next }) => next),
    `${real}${noteMark(row.note, notes)}`,
  ]
}

/** The settings that a word is about are named where there are several. */
function pythonSays(variant: Variant, { in: settings }: Row): string {
  const words = new Map<string, string[]>()
  for (const { id, title } of SETTINGS.filter((setting) => settings.includes(setting.id))) {
    const says = expectedOf(variant, id, 'python')?.says
    if (says !== undefined) words.set(says, [...(words.get(says) ?? []), title])
  }
  if (words.size <= 1) return [...words.keys()][0] ?? '–'
  return [...words].map(([says, titles]) => `${says} (${titles.join(', ')})`).join('; ')
}

/** Notes of a table are numbered, and said once. */
function noteMark(why: string | undefined, notes: string[]): string {
  if (why === undefined) return ''
  if (!notes.includes(why)) notes.push(why)
  return ` (${notes.indexOf(why) + 1})`
}
