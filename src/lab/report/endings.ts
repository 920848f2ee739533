import {
  type ErrorCount,
  type LoadResult,
  ORIGINS,
  type ToolResult,
} from '../load/results/result.ts'

/** Counts calls by outcome. Each call counts once, so that the counts add up to all calls. */
export interface Endings {
  /** Responded, correct and in time. */
  readonly ok: number
  readonly injected: number
  readonly real: number
  readonly unattributed: number
  readonly squall: number
  readonly client: number
  /** Responded without an error, but incorrect. */
  readonly wrong: number
  /** Correct, but after the deadline. */
  readonly late: number
}

export type EndingName = keyof Endings

/** The endings with their labels, in display order. */
export const ENDINGS: readonly { readonly name: EndingName; readonly label: string }[] = [
  { name: 'ok', label: 'As it should be' },
  { name: 'injected', label: 'Injected error' },
  { name: 'real', label: 'Real error' },
  { name: 'unattributed', label: 'Unattributed error' },
  { name: 'squall', label: 'Squall’s own error' },
  { name: 'client', label: 'Not sent' },
  { name: 'wrong', label: 'Wrong result' },
  { name: 'late', label: 'Too late' },
]

export function endingsOf({ counts, errors }: LoadResult): Endings {
  const { success, responded, correct } = counts
  return endings(success, responded, correct, errors)
}

export function toolEndings({ ok, responded, correct, errors }: ToolResult): Endings {
  return endings(ok, responded, correct, errors)
}

function endings(
  ok: number,
  responded: number,
  correct: number,
  errors: readonly ErrorCount[],
): Endings {
  const by = Object.fromEntries(ORIGINS.map((origin) => [origin, 0]))
  for (const { origin, count } of errors) by[origin] = (by[origin] ?? 0) + count
  const { injected = 0, real = 0, unattributed = 0, squall = 0, client = 0 } = by
  const wrong = responded - correct
  return { ok, injected, real, unattributed, squall, client, wrong, late: correct - ok }
}
