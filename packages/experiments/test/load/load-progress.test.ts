// part: slow
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Progress, progressLine, showProgress } from '../../src/load/load-progress.ts'
import { latency, percentage } from '../../../../src/base/text/shown-numbers.ts'
import { Recorder } from '../../src/load/results/recorder.ts'

/** A written text, and the milliseconds after which it was written. */
interface Written {
  readonly text: string
  readonly ms: number
}

/** Shows the progress of a half-finished load until so much was written. */
async function shown(
  count: number,
  isTTY: boolean,
  env: Readonly<Record<string, string>> = {},
): Promise<Written[]> {
  const written: Written[] = []
  let now = 0
  const recorder = new Recorder(() => now)
  const began = performance.now()
  const progress = await new Promise<Progress>((resolve) => {
    const write = (text: string): void => {
      written.push({ text, ms: performance.now() - began })
      if (written.length === count) resolve(drawn)
    }
    const output = { isTTY, columns: 200, write }
    const drawn = showProgress(output, recorder, { calls: undefined, durationMs: 10_000 }, env)
    now = 5000
  })
  progress.stop()
  await sleep(300)
  return written
}

test('on a terminal a line is redrawn at most five times a second, in 80 columns', async () => {
  const written = await shown(5, true)
  // The progress line is gone at the end, and not drawn again.
  expect(written.pop()!.text).toBe('\r\u001b[K')
  expect(written).toHaveLength(5)
  expect(written[0]!.text).toMatch(/^\r█{10}░{10} 50% 0 calls {2}0\/s {2}p99 - {2}no errors/)
  for (const [index, { text, ms }] of written.entries()) {
    // oxlint-disable-next-line no-control-regex
    expect(text.replace(/^\r|\u001b\[K$/g, '').length).toBeLessThan(80)
    expect(ms).toBeGreaterThanOrEqual(200 * (index + 1))
  }
})

test('elsewhere plain lines are written now and then', async () => {
  const cases = [
    [false, {}],
    [true, { CI: 'true' }],
    [true, { TERM: 'dumb' }],
  ] as const
  // All at once, since the first line comes after seconds.
  const all = await Promise.all(cases.map(([isTTY, env]) => shown(1, isTTY, env)))
  for (const written of all) {
    expect(written.map(({ text }) => text)).toEqual(['50% 0 calls  0/s  p99 -  no errors\n'])
    expect(written[0]!.ms).toBeGreaterThan(4_000)
  }
})

test('the errors are shown by their origin', () => {
  const recorder = new Recorder(() => 0)
  for (let i = 0; i < 1234; i++) recorder.errors.add('tool', 'injected', undefined)
  for (let i = 0; i < 2; i++) recorder.errors.add('http', 'real', 500)
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
