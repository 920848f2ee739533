import { expect, test } from 'vitest'
import { experimentProgress } from '../../src/experiment/experiment-progress.ts'
import type { ExperimentEvent } from '../../src/experiment/context.ts'

const measured = { errors: 0.0312, success: 0.9, p50: 12, p95: 12_345, p99: 20_000 }
const stage = { index: 1, count: 3 }
const EVENTS: readonly ExperimentEvent[] = [
  { kind: 'phase', label: 'steady state before', durationMs: 20_000 },
  { kind: 'phase-over', label: 'steady state before', text: 'passed' },
  { kind: 'phase', label: '25% of pods', stage, durationMs: 3_600_000 },
  {
    kind: 'moment',
    elapsedMs: 1_800_000,
    durationMs: 3_600_000,
    calls: 123_456_789,
    measured,
    applied: 12_345_678,
  },
  { kind: 'phase-over', label: '25% of pods', text: 'passed \u001b[31m' },
  { kind: 'rolled-back', restored: true },
]

function shown(isTTY: boolean): string {
  let text = ''
  let now = 0
  const output = { isTTY, columns: 200, write: (part: string) => (text += part) }
  const tell = experimentProgress(output, {}, () => (now += 60_000))
  for (const event of EVENTS) tell(event)
  return text
}

test('writes plain lines to a pipe', () => {
  expect(shown(false)).toBe(`steady state before: passed
stage 2 of 3: 25% of pods, 60 min
25% of pods 30 min/60 min  123456789 calls  errors 3.1 %  p95 12.35 s  faults 12345678
25% of pods: passed \\u{1b}[31m
rolled back
`)
})

test('on a terminal the redrawn line keeps within 80 columns', () => {
  const sampled = shown(true)
    .split('\u001b[K')
    .flatMap((part) => part.split('\n'))
    .map((line) => line.replace('\r', ''))
  expect(sampled.some((line) => line.startsWith('████████░░░░░░░░ 25% of pods'))).toBe(true)
  for (const line of sampled) expect(line.length).toBeLessThan(80)
})
