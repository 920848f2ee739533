/** The response of a tool. */
export interface ToolResponse {
  readonly text: string
  readonly structured?: Readonly<Record<string, unknown>>
}

/** One tool of the demo's app. The same arguments give the same response. */
export interface DemoTool {
  readonly name: string
  readonly description: string
  readonly argument: string
  /** It does more than read. */
  readonly writes?: boolean
  /** Answers with an event stream that tells its progress in so many steps. */
  readonly steps?: number
  readonly outputSchema?: object
  response(argument: string): ToolResponse
}

const SKIES = ['clear', 'cloudy', 'rain', 'fog', 'snow']

/** The tools of the demo's app. */
export const DEMO_TOOLS: readonly DemoTool[] = [
  {
    name: 'search_docs',
    description: 'Search the handbook',
    argument: 'query',
    response: (query) => ({
      text: [1, 2, 3].map((n) => `${n}. ${query}: page ${1 + (hash(query) % 90) * n}`).join('\n'),
    }),
  },
  {
    name: 'query_db',
    description: 'Run a read-only query',
    argument: 'sql',
    response: (sql) => ({
      text: JSON.stringify(
        Array.from({ length: 1 + (hash(sql) % 24) }, (_, row) => ({ row, value: hash(sql + row) })),
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
      const structured = { celsius: (hash(place) % 45) - 10, sky: SKIES[hash(place) % 5] }
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
    response: (to) => ({ text: `Booked to ${to}, seat ${1 + (hash(to) % 30)}A ✈` }),
  },
]

/** The entry of a tool in the response to `tools/list`. */
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

function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  }
  return value >>> 0
}
