import { MESSAGE_ROWS } from './message-rows.ts'
import { PYTHON_ROWS } from './python-rows.ts'
import { CLIENTS, SETTINGS, type ClientId, type SettingId } from './settings.ts'
import { expectedOf, realOf, titleOf, type Observed, type Row, type Variant } from './variant.ts'

const INTRO = `<!-- Made from test/matrix. Change what is expected there, then run: npm run generate -->

# What real clients report

Each row is one way to use a fault, for servers that respond in the ways listed under _responds by_. The row shows what clients report of the call: those of the TypeScript SDK v1, of v2, of v2 with \`versionNegotiation: { mode: 'auto' }\`, and of the Python SDK; then how often the upstream _ran_ it, how Squall _counted_ it (outcome and origin), and what the client reports of its _next_ call, which gets no fault. _Real_ says that the same clients called a server that fails so by itself, and reported the same. Of the TypeScript clients, \`auto\` alone speaks protocol version 2026-07-28. All of it is measured by the tests in \`test/system\`, and a part of it by those in \`test/matrix\`, with real clients and servers of the SDKs; a timeout is that of the client, cut short.

| responds by | what it is |
| --- | --- |
| JSON | Streamable HTTP with sessions, protocol version 2025-11-25, a JSON body per call |
| SSE | the same with a stream of events per call: progress, then the response |
| SSE with ids | the same with event ids, so that a client can resume the stream |
| HTTP+SSE | the transport of 2024-11-05: all responses on one stream |
| 2026 JSON, 2026 SSE | protocol version 2026-07-28 |

What the clients say: \`ok\` and \`tool error\` are results, _changed_ ones are valid and not what the upstream gave; _complains_ means that the client also reported an error outside of the call; all else is thrown: the class of the error, and its status or code. What the Python client thinks of HTTP+SSE is not measured; _client dies_ means that an error ended it as a whole. _Ran_, _counted_ and _next_ are those of the TypeScript clients. An \`open\` call has not ended for Squall: its response may still come. A fault that cannot act on a response leaves it as it is, and is counted as \`not_applicable\`.
`

/** The page that shows the matrix. */
export function matrixPage(variants: readonly Variant[]): string {
  const faults = [...new Set(variants.map(({ fault }) => fault))]
  const sections = faults.map((fault) => {
    const rows = variants.filter((one) => one.fault === fault).flatMap((one) => rowsOf(one))
    const notes: string[] = []
    const lines = rows.map(({ variant, row }) => line(variant, row, notes))
    const markers = notes.map((note, index) => `${index + 1}. ${note}`)
    return `## ${fault}

| fault | responds by | v1 | v2 | v2 auto | Python | ran | counted | next | real |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
${lines.join('\n')}
${markers.length === 0 ? '' : `\n${markers.join('\n')}\n`}`
  })
  return `${INTRO}\n${sections.join('\n')}${messageSection()}`
}

/** Writes the table of messages that are no calls. */
function messageSection(): string {
  const lines = MESSAGE_ROWS.map(
    ({ fault, match, reports }) => `| \`${fault}\` | \`${match}\` | ${reports} |`,
  )
  return `
## Messages that are no calls

What clients of SDK v1, SDK v2 and the Python SDK report, with the reference server, over Streamable HTTP and HTTP+SSE alike. [On which messages a fault acts](reach.md) has every fault.

| fault | rule | the client reports |
| --- | --- | --- |
${lines.join('\n')}
`
}

function rowsOf(variant: Variant): readonly { readonly variant: Variant; readonly row: Row }[] {
  return variant.rows.map((row) => ({ variant, row }))
}

function line(variant: Variant, row: Row, notes: string[]): string {
  const { config, method, before } = variant
  const has = (id: SettingId): boolean => row.in.includes(id)
  const titles = SETTINGS.filter(({ id }) => has(id)).map(({ title }) => title)
  const isOlder = row.in.some((id) => !id.startsWith('modern'))
  const seen = (client: ClientId): Observed => expectedOf(variant, row.in[0]!, client)!
  const says = CLIENTS.map((client) => (client === 'auto' || isOlder ? seen(client).says : '–'))
  const each = (of: (observed: Observed) => string | number): string => {
    const clients = isOlder ? CLIENTS : (['auto'] as const)
    return [...new Set(clients.map((client) => of(seen(client))))].join(', ')
  }
  const real = realOf(variant, row.in[0]!)
  const isApplied = (row.rule ?? 'injected') === 'injected'
  const what = `\`${config}\`${method ? ` of \`${method}\`` : ''}${
    before === 'list' ? ', tools listed before' : before === 'call' ? ', second call' : ''
  }`
  const python = pythonSays(variant, row)
  const cells = [
    what,
    titles.length === SETTINGS.length ? 'all' : titles.join(', '),
    ...says,
    python,
    each(({ ran }) => ran),
    each(({ counted, rule }) =>
      rule === 'not_applicable' ? `${counted}, not_applicable` : counted,
    ),
    each(({ next }) => next),
    real !== undefined && isApplied ? 'same' : '–',
  ]
  return `| ${cells.join(' | ')}${noteMark(row.why, notes)} |`
}

/** The settings that a word is about are named where there are several. */
function pythonSays(variant: Variant, { in: settings }: Row): string {
  const words = (PYTHON_ROWS[titleOf(variant)] ?? []).flatMap((row) => {
    const titles = SETTINGS.filter(({ id }) => row.in.includes(id) && settings.includes(id))
    return titles.length === 0 ? [] : [{ says: row.says, titles: titles.map(({ title }) => title) }]
  })
  if (words.length <= 1) return words[0]?.says ?? '–'
  return words.map(({ says, titles }) => `${says} (${titles.join(', ')})`).join('; ')
}

/** Notes of a table are numbered, and said once. */
function noteMark(why: string | undefined, notes: string[]): string {
  if (why === undefined) return ''
  if (!notes.includes(why)) notes.push(why)
  return ` (${notes.indexOf(why) + 1})`
}
