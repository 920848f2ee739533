import { hashOf, intBetween, pick, seededRandom } from '#base'

/** The response of a tool. */
export interface ToolResponse {
  readonly text: string
  readonly structured?: Readonly<Record<string, unknown>>
}

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
  response(argument: string): ToolResponse
}

const SKIES = ['clear', 'cloudy', 'rain', 'fog', 'snow']

/** The tools of the demo's MCP server. */
export const DEMO_TOOLS: readonly DemoTool[] = [
  {
    name: 'search_docs',
    description: 'Search the handbook',
    argument: 'query',
    response: (query) => ({
      text: [1, 2, 3].map((n) => `${n}. ${query}: page ${1 + (hashOf(query) % 90) * n}`).join('\n'),
    }),
  },
  {
    name: 'query_db',
    description: 'Run a read-only query',
    argument: 'sql',
    response: (sql) => ({
      text: JSON.stringify(
        Array.from({ length: 1 + (hashOf(sql) % 24) }, (_, row) => ({
          row,
          value: hashOf(sql + row),
        })),
      ),
    }),
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
      const structured = { celsius: (hashOf(place) % 45) - 10, sky: SKIES[hashOf(place) % 5] }
      return { text: JSON.stringify(structured), structured }
    },
  },
  {
    name: 'summarize',
    description: 'Summarize a text, telling progress',
    argument: 'text',
    steps: 3,
    response: (text) => ({ text: `In short (${text.length} characters): ${text.slice(0, 40)} …` }),
  },
  {
    name: 'book_flight',
    description: 'Book a flight; fails often',
    argument: 'to',
    writes: true,
    response: (to) => ({ text: `Booked to ${to}, seat ${1 + (hashOf(to) % 30)}A ✈` }),
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

/** The kinds of failures of the demo's MCP server. */
export const FAILURES = ['tool_error', 'rpc_error', 'http_error', 'reset'] as const

type FailureKind = (typeof FAILURES)[number]

/** The outcome of a call to the demo's MCP server. */
export type Ending = 'ok' | FailureKind

/**
 * Fails one call in `oneIn`, with each of the kinds in turn. The counts of Squall are compared with
 * it.
 */
const FAILURE_SCRIPT: Readonly<
  Record<string, { readonly oneIn: number; readonly kinds: readonly FailureKind[] }>
> = {
  query_db: { oneIn: 25, kinds: ['http_error', 'rpc_error'] },
  get_weather: { oneIn: 50, kinds: ['rpc_error'] },
  summarize: { oneIn: 20, kinds: ['tool_error', 'reset'] },
  book_flight: { oneIn: 8, kinds: ['tool_error', 'rpc_error', 'http_error', 'reset'] },
}

/** Returns the planned outcome of the nth call of a tool, counted from 1. */
export function plannedEnding(tool: string, nth: number): Ending {
  const script = FAILURE_SCRIPT[tool]
  if (script === undefined || nth % script.oneIn !== 0) return 'ok'
  return script.kinds[(nth / script.oneIn - 1) % script.kinds.length]!
}

/** A tool call as a JSON-RPC request. */
export interface ToolCall {
  readonly id: number
  readonly method: 'tools/call'
  readonly params: {
    readonly name: string
    readonly arguments: Readonly<Record<string, string>>
  }
}

const SUBJECTS = ['refunds', 'naïve Bayes', '東京', 'quarterly report', 'line\nbreak', 'São Paulo']

/** Returns the same calls for the same seed. */
export function seededCalls(seed: number, count: number): ToolCall[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, id) => {
    const { name, argument } = pick(random, DEMO_TOOLS)
    const subject = `${pick(random, SUBJECTS)} ${intBetween(random, 0, 999)}`
    const text = subject.repeat(intBetween(random, 1, 4))
    return { id, method: 'tools/call', params: { name, arguments: { [argument]: text } } }
  })
}
