import { describe, expect, it } from 'vitest'
import type { EndedCall } from '../../src/telemetry/call-line.ts'
import { ErrorSamples } from '../../src/telemetry/error-samples.ts'
import { ShownIds } from '../../src/telemetry/shown-ids.ts'
import { rounds } from '../support/rounds.ts'

const SOURCE = {
  call: { transport: 'stdio' },
  headerTrace: undefined,
  receivedAt: 0,
  resumedAt: -1,
} as const

/** Many more than are kept. */
const ERRORS = rounds(10_000, 200_000)

function failed(tool: string, error: EndedCall['error'], more: Partial<EndedCall> = {}): EndedCall {
  return {
    method: 'tools/call',
    name: tool,
    outcome: 'rpc_error',
    origin: 'real',
    seconds: 0.1,
    upstreamSeconds: 0.1,
    id: 1,
    session: 's',
    client: undefined,
    error,
    source: SOURCE,
    protocolVersion: undefined,
    endedAt: 20,
    faults: [],
    ...more,
  }
}

describe('what a hostile upstream sends', () => {
  it.each([
    ['messages', (i: number) => failed('t', { code: 1, message: `${'\u202e'.repeat(390)}${i}` })],
    ['codes', (i: number) => failed('t', { code: i, message: 'x'.repeat(400) })],
    ['tools', (i: number) => failed(`tool ${i}`, { code: 1, message: 'x'.repeat(400) })],
    ['methods', (i: number) => failed('', undefined, { method: `m${i}${'é'.repeat(500)}` })],
    ['sessions', (i: number) => failed('t', { code: 1 }, { session: `${i}`.padEnd(5_000, 'x') })],
  ] as const)('many different %s stay few and small, and all are counted', (_, made) => {
    const samples = new ErrorSamples(new ShownIds())
    const begun = process.cpuUsage()
    for (let i = 0; i < ERRORS; i++) samples.add(made(i), i)
    // 100 µs of CPU for each, with many errors.
    expect(process.cpuUsage(begun).user).toBeLessThan(20_000_000)
    const kinds = samples.list()
    const counted = kinds.reduce((sum, { count }) => sum + count, 0)
    expect([samples.total, counted + samples.dropped]).toEqual([ERRORS, ERRORS])
    expect(kinds.length).toBeLessThanOrEqual(200)
    expect(Math.max(...kinds.map((kind) => kind.samples.length))).toBeLessThanOrEqual(4)
    expect(JSON.stringify(kinds).length).toBeLessThan(512 * 1024)
  })
})

it('distinguishes the errors of one tool by code, and those beyond a dozen codes together', () => {
  const samples = new ErrorSamples(new ShownIds())
  samples.add(failed('other', { code: 1 }), 1)
  for (let code = 0; code < 100; code++) samples.add(failed('t', { code }), 2)
  const own = samples.list().filter(({ tool }) => tool === 't')
  expect(own).toHaveLength(13)
  expect(own.find(({ code }) => code === undefined)).toMatchObject({ count: 88 })
  expect(samples.list().at(-1)).toMatchObject({ tool: 'other', code: 1 })
})

it('looks at the first errors of a kind, and then at one in a second', () => {
  const samples = new ErrorSamples(new ShownIds())
  for (let i = 0; i < 1_000; i++) samples.add(failed('t', { message: `no ${i}` }), i * 10)
  const [kind] = samples.list()
  expect(kind).toMatchObject({ count: 1_000, first: 0, last: 9_990 })
  const seen = kind!.samples.map(({ at }) => at)
  for (const [i, at] of seen.entries()) {
    if (i > 0) expect(seen[i - 1]! - at).toBeGreaterThanOrEqual(1_000)
  }
})

it('can leave the messages out', () => {
  const samples = new ErrorSamples(new ShownIds('off'), false)
  samples.add(failed('t', { code: 7, message: 'a name of somebody' }), 1)
  expect(samples.list()).toMatchObject([{ code: 7, samples: [{ id: undefined }] }])
  expect(JSON.stringify(samples.list())).not.toContain('somebody')
})
