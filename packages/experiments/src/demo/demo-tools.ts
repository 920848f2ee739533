import { hashOf, intBetween, pick, seededRandom } from '#base'

/** A tool of the demo's MCP server. The same arguments give the same response. */
export interface DemoTool {
  readonly name: string
  readonly description: string
  readonly argument: string
  /** True for a tool that does more than read. */
  readonly writes?: boolean
  /** The number of progress notifications; with these the response is an event stream. */
  readonly steps?: number
  readonly outputSchema?: object
  /** Returns the result of a call. */
  response(argument: string): object
}

const text = (words: string): object => ({ content: [{ type: 'text', text: words }] })
const SKIES = ['clear', 'cloudy', 'rain', 'fog', 'snow']

/** The tools of the demo's MCP server. */
export const DEMO_TOOLS: readonly DemoTool[] = [
  {
    name: 'search_docs',
    description: 'Search the handbook',
    argument: 'query',
    response: (query) =>
      text([1, 2, 3].map((n) => `${n}. ${query}: page ${1 + (hashOf(query) % 90) * n}`).join('\n')),
  },
  {
    name: 'query_db',
    description: 'Run a read-only query',
    argument: 'sql',
    response: (sql) => {
      const length = 1 + (hashOf(sql) % 24)
      const rows = Array.from({ length }, (_, row) => ({ row, value: hashOf(sql + row) }))
      return text(JSON.stringify(rows))
    },
  },
  {
    name: 'get_weather',
    description: 'Weather of a place',
    argument: 'place',
    outputSchema: {
      type: 'object',
      properties: { celsius: { type: 'number' }, sky: { type: 'string' } },
      required: ['celsius', 'sky'],
    },
    response: (place) => {
      const structuredContent = {
        celsius: (hashOf(place) % 45) - 10,
        sky: SKIES[hashOf(place) % 5],
      }
      return { ...text(JSON.stringify(structuredContent)), structuredContent }
    },
  },
  {
    name: 'summarize',
    description: 'Summarize a text, reporting progress',
    argument: 'text',
    steps: 3,
    response: (long) => text(`In short (${long.length} characters): ${long.slice(0, 40)} …`),
  },
  {
    name: 'book_flight',
    description: 'Book a flight; fails often',
    argument: 'to',
    writes: true,
    response: (to) => text(`Booked to ${to}, seat ${1 + (hashOf(to) % 30)}A ✈`),
  },
]

/** Returns the entry of a tool in the response to `tools/list`. */
export function listed(tool: DemoTool): object {
  const { name, description, argument, outputSchema, writes = false } = tool
  return {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: { [argument]: { type: 'string' } },
      required: [argument],
    },
    annotations: writes ? { readOnlyHint: false, destructiveHint: false } : { readOnlyHint: true },
    ...(outputSchema === undefined ? {} : { outputSchema }),
  }
}

type Failure = 'tool' | 'rpc' | 'http' | 'reset'

/** The outcome of a call to the demo's MCP server, in the words of a load. */
export type Ending = 'ok' | Failure

/**
 * Fails one call in `oneIn`, with each of the kinds in turn. The counts of Squall are compared with
 * it.
 */
const FAILURE_SCRIPT: Readonly<
  Record<string, { readonly oneIn: number; readonly kinds: readonly Failure[] }>
> = {
  query_db: { oneIn: 25, kinds: ['http', 'rpc'] },
  get_weather: { oneIn: 50, kinds: ['rpc'] },
  summarize: { oneIn: 20, kinds: ['tool', 'reset'] },
  book_flight: { oneIn: 8, kinds: ['tool', 'rpc', 'http', 'reset'] },
}

/** Returns the planned outcome of the nth call of a tool, counted from 1. */
export function plannedEnding(tool: string, nth: number): Ending {
  const script = FAILURE_SCRIPT[tool]
  if (script === undefined || nth % script.oneIn !== 0) return 'ok'
  return script.kinds[(nth / script.oneIn - 1) % script.kinds.length]!
}

const SUBJECTS = ['refunds', 'naïve Bayes', '東京', 'quarterly report', 'line\nbreak', 'São Paulo']

/** Returns the same tool calls, as JSON-RPC requests, for the same seed. */
export function seededCalls(seed: number, count: number): object[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, id) => {
    const { name, argument } = pick(random, DEMO_TOOLS)
    const subject = `${pick(random, SUBJECTS)} ${intBetween(random, 0, 999)}`
    const given = { [argument]: subject.repeat(intBetween(random, 1, 4)) }
    return { id, method: 'tools/call', params: { name, arguments: given } }
  })
}
