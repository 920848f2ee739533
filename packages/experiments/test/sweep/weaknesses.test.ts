// part: slow-nightly
import { beforeAll, expect, it } from 'vitest'
import type { FaultName } from '../../src/sweep/faults.ts'
import { sweepHere, verdictsOf } from './flights.ts'

const CHECK = "grep -q 'booked FL-48213 for 4187.23'"
const TIMES = 3
const FAULTS = ['error', 'timeout', 'rateLimit', 'session', 'cut', 'lost', 'drift'] as const

/** Weaknesses of the agent, with the cells of a fault that differ from those of a careful agent. */
const WEAKNESSES: readonly (readonly [
  weakness: string,
  fault: FaultName,
  differ: Readonly<Record<string, string>>,
])[] = [
  ['gives-up:search_flights', 'rateLimit', { '1-rateLimit': 'failed_openly' }],
  ['gives-up:book_flight', 'rateLimit', { '4-rateLimit': 'failed_openly' }],
  ['gives-up:send_receipt', 'rateLimit', { '5-rateLimit': 'failed_openly' }],
  ['gives-up:get_price', 'cut', { '2-cut': 'failed_openly', '3-cut': 'failed_openly' }],
  ['ignores-errors:get_price', 'error', { '3-error': 'off_tape' }],
  ['ignores-errors:send_receipt', 'error', { '5-error': 'survived' }],
  ['hides-errors', 'error', { '4-error': 'failed_silently', '5-error': 'failed_silently' }],
  ['repeats:book_flight', 'lost', { '4-lost': 'doubled_write' }],
  ['repeats:book_flight', 'error', { '4-error': 'survived' }],
  ['repeats:send_receipt', 'cut', { '5-cut': 'doubled_write' }],
  ['loops:get_price', 'error', { '2-error': 'ran_away', '3-error': 'ran_away' }],
  [
    'one-session',
    'session',
    { '1-session': 'failed_openly', '2-session': 'failed_openly', '3-session': 'failed_openly' },
  ],
  ['no-timeout:book_flight', 'timeout', { '4-timeout': 'hung' }],
]

let careful: Readonly<Record<string, string>>

beforeAll(async () => {
  careful = verdictsOf(await sweepHere({ faults: FAULTS, check: CHECK }))
})

it('a careful agent survives what it may repeat, and fails openly elsewhere', () => {
  for (const [id, verdict] of Object.entries(careful)) {
    const [number, fault] = id.split('-')
    const mayRepeat = Number(number) <= 3 || fault === 'rateLimit'
    expect([id, verdict]).toEqual([id, mayRepeat ? 'survived' : 'failed_openly'])
  }
})

it.each(WEAKNESSES)(
  '%s: the column %s names it, and nothing else, three times of three',
  async (weakness, fault, differ) => {
    for (let time = 1; time <= TIMES; time++) {
      const found = verdictsOf(
        await sweepHere({ weakness, faults: [fault], check: CHECK, cellTimeoutMs: 15_000 }),
      )
      const others = Object.entries(found).filter(([id, verdict]) => careful[id] !== verdict)
      expect(Object.fromEntries(others), `time ${time}`).toEqual(differ)
    }
  },
  300_000,
)
