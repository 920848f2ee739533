import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { FaultName } from '../../src/sweep/faults.ts'
import { type SweepResult } from '../../src/sweep/sweep-result.ts'
import { sweep } from '../../src/sweep/sweep.ts'

export const AGENT = join(import.meta.dirname, 'agent.mjs')

const TOOLS = [
  ['search_flights', { readOnlyHint: true }],
  ['get_price', { readOnlyHint: true }],
  ['book_flight', { destructiveHint: true }],
  ['send_receipt', { destructiveHint: false }],
] as const

type TapeCall = readonly [tool: string, args: object, structuredContent: object]

const CALLS: readonly TapeCall[] = [
  [
    'search_flights',
    { from: 'OSL', to: 'LIS' },
    {
      flights: [
        { id: 'FL-48213', seats: 9 },
        { id: 'FL-48377', seats: 2 },
      ],
    },
  ],
  ['get_price', { flight: 'FL-48377' }, { price: 5310.75 }],
  ['get_price', { flight: 'FL-48213' }, { price: 4187.23 }],
  ['book_flight', { flight: 'FL-48213', price: 4187.23 }, { booking: 'BK-771204' }],
  ['send_receipt', { booking: 'BK-771204' }, { sent: true }],
]

/** Writes a tape of the task into a new directory; returns its path. */
export async function flightTape(calls = CALLS): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-sweep-test-'))
  const lines: object[] = [
    { tape: 1, squall: '0.1.0', recordedAt: '2026-11-29T09:00:00Z', note: '', secrets: 'redacted' },
  ]
  let id = 0
  const exchange = (method: string, params: object, result: object): void => {
    id++
    const session = 'abcd1234'
    const common = { at: id, exchange: id, id }
    const own = method === 'initialize' ? {} : { session }
    lines.push(
      { ...common, ...own, from: 'client', method, params },
      { ...common, session, from: 'server', via: 'json', result },
    )
  }
  const client = { protocolVersion: '2025-06-18', capabilities: {} }
  const serverInfo = { name: 'flights', version: '1' }
  exchange('initialize', { ...client, clientInfo: serverInfo }, { ...client, serverInfo })
  const tools = TOOLS.map(([name, annotations]) => ({
    name,
    annotations,
    inputSchema: { type: 'object' },
  }))
  exchange('tools/list', {}, { tools })
  for (const [name, args, structuredContent] of calls) {
    const content = [{ type: 'text', text: JSON.stringify(structuredContent) }]
    exchange('tools/call', { name, arguments: args }, { content, structuredContent })
  }
  const path = join(directory, 'flight.tape')
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return path
}

export interface SweepHere {
  readonly faults: readonly FaultName[]
  readonly weakness?: string
  readonly only?: readonly string[]
  readonly check?: string
  readonly repeat?: number
  readonly cellTimeoutMs?: number
  readonly earlier?: SweepResult
  readonly stop?: AbortSignal
  readonly onProgress?: (done: number) => void
  readonly budgetMs?: number
  readonly path?: string
  /** In place of the scripted agent. */
  readonly command?: readonly string[]
}

/** Runs a sweep of the agent in this process. */
export async function sweepHere(given: SweepHere): Promise<SweepResult> {
  const path = given.path ?? (await flightTape())
  const request = {
    tape: path,
    match: 'arguments' as const,
    faults: given.faults,
    repeat: given.repeat ?? 1,
    command: given.command ?? [process.execPath, AGENT, given.weakness ?? 'none'],
    check: given.check,
    results: `${path}-results`,
    resume: given.earlier !== undefined,
    cell: [...(given.only ?? [])],
    cellTimeout: given.cellTimeoutMs ?? 20_000,
    parallel: 2,
    budget: given.budgetMs ?? 600_000,
  }
  try {
    const { stop = new AbortController().signal, onProgress = () => undefined } = given
    return await sweep(request, stop, onProgress)
  } finally {
    if (given.path === undefined) await rm(dirname(path), { recursive: true, force: true })
  }
}

/** Returns the verdict of each cell by its id. */
export function verdictsOf({ cells }: SweepResult): Readonly<Record<string, string>> {
  return Object.fromEntries(cells.map((each) => [each.id, each.verdict]))
}
