// part: slow
import { expect, it } from 'vitest'
import type { ResponseSink } from '../../../../src/http/transfer.ts'
import { taped } from '../../../../src/listener/layers/taped.ts'
import { NO_TRANSFER, type Outgoing } from '../../../../src/listener/layers/service.ts'
import type { StackParts } from '../../../../src/listener/layers/stack-parts.ts'
import { type TapeOptions, TapeRecorder } from '../../../../src/telemetry/tape.ts'
import { linesOf, newPath } from './recorded.ts'

const MIB = 1024 * 1024
const LINE = { exchange: 1, from: 'client' } as const

async function started(options: Partial<TapeOptions> = {}) {
  const counts = { written: 0, dropped: 0 }
  const nothing = (): void => undefined
  let warn: (fields: object) => void = nothing
  const ended = new Promise((resolve) => {
    warn = (fields) => 'why' in fields && resolve(fields.why)
  })
  const path = await newPath()
  const tape = await TapeRecorder.open(
    {
      path,
      force: false,
      maxBytes: 100 * MIB,
      keepSecrets: false,
      redact: [],
      logger: { debug: nothing, info: nothing, warn: (fields) => warn(fields), error: nothing },
      count: (fate, lines) => (counts[fate] += lines),
      ...options,
    },
    '0',
  )
  return { tape, path, counts, ended }
}

/** Returns the text of a message with rows. */
function textOf(rows: number): string {
  const list = Array.from({ length: rows }, (_, id) => ({ id, mail: 'ada@example.com' }))
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { rows: list } })
}

it('drops what waits as soon as the largest size is reached', async () => {
  const { tape, counts, ended } = await started({ maxBytes: MIB })
  const text = textOf(1000)
  for (let i = 0; i < 400; i++) tape.take(LINE, text)
  expect(await ended).toBe('the tape has reached the maximum size')
  expect(counts.written).toBeGreaterThan(0)
  expect(counts.written + counts.dropped).toBe(400)
  await tape.close()
})

it('holds a bounded number of messages without a text', async () => {
  const { tape, counts, ended } = await started()
  for (let i = 0; i < 200_000; i++) tape.take({ ...LINE, failed: 'reset' })
  expect(await ended).toBe('writing to the file is too slow')
  expect(counts.dropped).toBe(200_000)
  await tape.close()
})

it('closes in seconds, whatever waits', async () => {
  const redact = Array.from({ length: 2000 }, (_, i) => `/params/rows/*/x${i}`)
  const { tape, path, counts, ended } = await started({ redact })
  const text = textOf(1000)
  for (let i = 0; i < 800; i++) tape.take(LINE, text)
  await tape.close()
  expect(await ended).toBe('writing to the file is too slow')
  expect(counts.dropped).toBeGreaterThan(0)
  expect(counts.written + counts.dropped).toBe(800)
  expect(await linesOf(path)).toHaveLength(counts.written)
})

it('reads no exchange any more once the recording has ended, and counts its messages', async () => {
  const { tape, counts } = await started()
  await tape.close()
  const seen: unknown[] = []
  const inner = {
    send: (...sent: unknown[]) => {
      seen.push(...sent)
      return NO_TRANSFER
    },
  }
  const request = { body: new Uint8Array(2), entries: [{}] } as unknown as Outgoing
  const sink = {} as ResponseSink
  expect(taped({ tape } as StackParts)(inner).send(request, sink)).toBe(NO_TRANSFER)
  expect(seen).toEqual([request, sink])
  expect(counts.dropped).toBe(2)
})
