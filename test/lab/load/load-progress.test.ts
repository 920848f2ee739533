import { afterEach, expect, test, vi } from 'vitest'
import { progressLine, showProgress } from '../../../src/lab/load/load-progress.ts'
import { latency, percentage } from '../../../src/lab/report/shown-numbers.ts'
import { Recorder } from '../../../src/lab/load/results/recorder.ts'

afterEach(() => vi.useRealTimers())

function sampled(isTTY: boolean, env: Readonly<Record<string, string>> = {}): string[] {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const written: string[] = []
  let now = 0
  const recorder = new Recorder(() => now)
  const output = { isTTY, columns: 200, write: (text: string) => written.push(text) }
  const progress = showProgress(output, recorder, { calls: undefined, durationMs: 10_000 }, env)
  now = 5000
  vi.advanceTimersByTime(10_000)
  progress.stop()
  vi.advanceTimersByTime(10_000)
  return written
}

test('on a terminal a line is redrawn at most five times a second, in 80 columns', () => {
  const written = sampled(true)
  expect(written.length).toBeGreaterThan(10)
  expect(written.length).toBeLessThanOrEqual(51)
  expect(written[0]).toMatch(/^\r█{10}░{10} 50% 0 calls {2}0\/s {2}p99 - {2}no errors/)
  // oxlint-disable-next-line no-control-regex
  for (const text of written) expect(text.replace(/^\r|\u001b\[K$/g, '').length).toBeLessThan(80)
  // The progress line is gone at the end.
  expect(written.at(-1)).toBe('\r\u001b[K')
})

test.each([
  [false, {}],
  [true, { CI: 'true' }],
  [true, { TERM: 'dumb' }],
])('elsewhere plain lines are written now and then: %s %o', (isTTY, env) => {
  const written = sampled(isTTY, env)
  expect(written).toHaveLength(2)
  expect(written[0]).toBe('50% 0 calls  0/s  p99 -  no errors\n')
})

test('the errors are shown by their origin', () => {
  const recorder = new Recorder(() => 0)
  recorder.originCounts.injected = 1234
  recorder.originCounts.real = 2
  const line = progressLine(recorder, { calls: 10, durationMs: undefined })
  expect(line).toMatch(/errors 1,234 injected, 2 real$/)
})

test('figures say no more than they know', () => {
  expect([1, 0.99999999, 0.995, 0.5, 0.0012, 0.00001, 0, null].map(percentage)).toEqual([
    '100 %',
    '> 99.99 %',
    '99.50 %',
    '50.0 %',
    '0.12 %',
    '< 0.01 %',
    '0 %',
    '-',
  ])
  expect([0.5, 42.4, 1234, null].map(latency)).toEqual(['0.50 ms', '42 ms', '1.23 s', '-'])
})
