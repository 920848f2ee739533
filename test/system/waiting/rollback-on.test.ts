// part: slow-nightly
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { closeAll, isNotCounted, NEVER, start } from '../../live/rollback-stage.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort, responding, startUpstream } from '../../support/wire.ts'

afterEach(closeAll)

describe('the latency of the upstream', () => {
  it.each([
    ['delay', '{ fixed: 400ms, at: response }'],
    ['throttle', '{ rate: 200B }'],
    ['throttle', '{ rate: 200B, direction: request }'],
    ['hang', '{ at: request, for: 400ms }'],
    ['hang', '{ at: headers, for: 400ms }'],
  ])('does not count the time of %s: %s', async (fault, parameters) => {
    await isNotCounted(`${fault}: ${parameters}`)
  })
})

describe('an upstream that is not ready', () => {
  it('disarms after its time, and not for a short restart', async () => {
    const port = await freePort()
    const pod = await start('not-ready for 6s', NEVER, { upstreamPort: port })
    const { arming } = pod.squall.running.rules!
    await eventually(async () => ((await pod.squall.readiness()).ready ? undefined : 'not ready'))
    await pod.text()
    await sleep(1200)
    await pod.app.close()
    await sleep(1000)
    const again = await startUpstream(responding('again'), { host: '127.0.0.1', port })
    await eventually(async () => ((await pod.text()) === 'again' ? undefined : 'no response'))
    await sleep(6500)
    expect(arming.armed).toBe(true)
    const begin = performance.now()
    await again.close()
    await eventually(() => (arming.armed ? 'still armed' : undefined))
    expect(performance.now() - begin).toBeGreaterThanOrEqual(6000)
    expect(arming.reasons[0]!.reason).toContain('does not accept connections')
  }, 30_000)
})
