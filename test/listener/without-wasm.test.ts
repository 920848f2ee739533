import { expect, test } from 'vitest'
import { json, result } from '../accounting/stage.ts'
import { call, callMessage, metricOf, startSidecar, startUpstream } from '../support/wire.ts'

test('large responses are read without WebAssembly', async () => {
  const whole = JSON.stringify(result(1, { content: [{ type: 'text', text: 'a'.repeat(50_000) }] }))
  const bodies = [whole, whole.replace('aaa', '"')]
  let next = 0
  const app = await startUpstream({
    script: (exchange) => void exchange.send([json(bodies[next++]!)]),
  })
  const upstream = `http://127.0.0.1:${app.port}`
  // Node warns that it has no WebAssembly.
  // undici, and so the standard engine, needs WebAssembly.
  const setup = { nodeOptions: '--jitless --no-warnings', flags: ['--engine', 'fast'] }
  const squall = await startSidecar({ upstream, process: setup })
  try {
    const place = { port: squall.port, path: '/mcp' }
    for (const body of bodies) expect((await call(place, callMessage(1))).text).toBe(body)
    const counted = async (outcome: string) =>
      metricOf(await squall.metrics(), 'squall_calls_total', { outcome })
    await expect.poll(() => counted('ok')).toBe(1)
    await expect.poll(() => counted('incomplete')).toBe(1)
  } finally {
    await squall.stop()
    await app.close()
  }
})
