import { expect, it } from 'vitest'
import { FaultStopped, Stop, interruptibleWait } from '../../src/listener/faults/chain/stop.ts'
import {
  faultMarker,
  markerComments,
  withMarkers,
} from '../../src/listener/faults/emit/injected-response.ts'

it('waits its time, and no timer is left when it is woken or stopped', async () => {
  const wake = new AbortController()
  const stop = new AbortController()
  const start = performance.now()
  await interruptibleWait(20, wake.signal, stop.signal)
  expect(performance.now() - start).toBeGreaterThanOrEqual(19.5)
  const waits = [600_000, Infinity, 3e9].map((ms) =>
    interruptibleWait(ms, wake.signal, stop.signal),
  )
  wake.abort()
  await Promise.all(waits)
  await interruptibleWait(600_000, wake.signal, stop.signal)
  stop.abort()
  await expect(interruptibleWait(1, wake.signal, stop.signal)).rejects.toBeInstanceOf(FaultStopped)
})

it.each([1, 1.3, 2.6, 7, 20.4])('never ends half a millisecond early: %d ms', async (ms) => {
  const wake = new AbortController()
  const early: number[] = []
  for (let n = 0; n < 40; n++) {
    const start = performance.now()
    await interruptibleWait(ms, wake.signal, new Stop())
    early.push(ms - (performance.now() - start))
  }
  expect(Math.max(...early)).toBeLessThanOrEqual(0.5)
})

it('stops what waits, and whoever asks for a signal, with one word', async () => {
  const wake = new AbortController()
  const stop = new Stop()
  const early = stop.signal
  const waits = [
    interruptibleWait(600_000, wake.signal, stop),
    interruptibleWait(Infinity, wake.signal, stop),
  ]
  stop.abort()
  stop.abort()
  const ends = await Promise.allSettled(waits)
  expect(
    ends.map((end) => end.status === 'rejected' && end.reason instanceof FaultStopped),
  ).toEqual([true, true])
  expect(stop.size).toBe(0)
  expect([early.aborted, new Stop().aborted, stop.signal]).toEqual([true, false, early])
  const late = new Stop()
  late.abort()
  expect(late.signal.reason).toBeInstanceOf(FaultStopped)
  await expect(interruptibleWait(1, wake.signal, late)).rejects.toBeInstanceOf(FaultStopped)
})

it('rejects all that waits when it is stopped, without a warning about their number', async () => {
  const warnings: Error[] = []
  const note = (warning: Error): void => void warnings.push(warning)
  process.on('warning', note)
  const wake = new AbortController()
  const stop = new AbortController()
  const waits = Array.from({ length: 50 }, () =>
    interruptibleWait(600_000, wake.signal, stop.signal),
  )
  stop.abort()
  const ends = await Promise.allSettled(waits)
  expect(ends.every(({ status }) => status === 'rejected')).toBe(true)
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', note)
  expect(warnings).toEqual([])
})

it('marks in characters that can break neither a header nor a comment', () => {
  const marker = faultMarker('a\r\nb: ü/"', 'delay')
  expect(marker).toBe('a__b_____/delay')
  const head = { status: 200, reason: 'OK', headers: ['a', 'b'] }
  expect(withMarkers(head, [marker]).headers).toEqual(['a', 'b', 'x-squall-fault', marker])
  expect(markerComments([marker]).toString()).toBe(`: x-squall-fault ${marker}\n\n`)
  expect(faultMarker('', 'x'.repeat(500))).toHaveLength(102)
})
