/**
 * Each rule with `replay` kept up to 8 MiB of responses, `amplify` a text for each copy and
 * `--public-url` 64 KiB of metadata, none of which counted: together they could take more than the
 * memory of the pod.
 */
import type { RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { oneFault } from '../faults/one-fault.ts'
import { jsonApp, resultText, whenAsked } from '../faults/apps.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { call, callMessage, startSidecar } from '../support/wire.ts'

const opened = closers()
const KIB = 1024

test('responses that replay keeps count, give way to messages, and go with their rule', async () => {
  const rules = [oneFault('replay: { by: all }')]
  const squall = opened(await startSidecar({ upstream: jsonApp, rules, maxMemory: 64 * KIB }))
  const { memory } = squall.sidecar
  await call(squall, callMessage(1))
  expect(memory.cacheBudget.bytes).toBeGreaterThan(resultText(1).length)
  // A request that needs the room gets it.
  const large = { ...callMessage(2, 'other'), pad: 'x'.repeat(70 * KIB) }
  await call(squall, large)
  expect(memory.cacheBudget.bytes).toBe(0)
  expect(memory.pressure.kept_dropped).toBe(1)
  await call(squall, callMessage(3))
  expect(memory.cacheBudget.bytes).toBeGreaterThan(0)
  squall.faults.take([])
  expect(memory.cacheBudget.bytes).toBe(0)
})

test('copies that the upstream has not answered count', async () => {
  const waiting: (() => void)[] = []
  const listener: RequestListener = (req, res) => {
    whenAsked(req, ([message]) => {
      const end = (): void => void res.end(resultText(message!.id!))
      if (message!.id === 1) end()
      else waiting.push(end)
    })
  }
  const squall = opened(
    await startSidecar({
      upstream: listener,
      rules: [oneFault('amplify: { copies: 2 }')],
    }),
  )
  const { memory } = squall.sidecar
  const pad = 'x'.repeat(10 * KIB)
  await call(squall, { ...callMessage(1), pad })
  await eventually(() => (waiting.length === 2 ? undefined : `${waiting.length} copies`))
  expect(memory.held).toBeGreaterThan(20 * KIB)
  for (const end of waiting) end()
  await eventually(() => (memory.held === 0 ? undefined : `${memory.held} bytes`))
})

test('metadata that is held for --public-url counts', async () => {
  const ends: (() => void)[] = []
  const squall = opened(
    await startSidecar({
      upstream: (_req, res) => {
        res.setHeader('content-type', 'application/json')
        res.write(`{"a":"${'x'.repeat(20 * KIB)}`)
        ends.push(() => void res.end('"}'))
      },
      publicUrl: 'https://gw.example',
    }),
  )
  const { memory } = squall.sidecar
  const path = `${squall.url}/.well-known/oauth-protected-resource`
  const response = fetch(path)
  await eventually(() => (memory.held > 20 * KIB ? undefined : `${memory.held} bytes`))
  ends[0]!()
  expect((await (await response).json()) as object).toHaveProperty('a')
  expect(memory.held).toBe(0)
  const left = new AbortController()
  const leaving = fetch(path, { signal: left.signal }).catch(() => undefined)
  await eventually(() => (memory.held > 20 * KIB ? undefined : `${memory.held} bytes`))
  left.abort()
  await leaving
  await eventually(() => (memory.held === 0 ? undefined : `${memory.held} bytes`))
})
