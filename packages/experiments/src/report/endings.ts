import { type LoadResult, type Origin, type ToolResult, noErrors } from '../load/results/result.ts'

/**
 * Counts calls by outcome, so that the counts add up to all calls: `ok` is correct and in time,
 * `wrong` responded without an error but incorrect, and `late` correct but after the deadline.
 */
export type Endings = Readonly<Record<Origin | 'ok' | 'wrong' | 'late', number>>

/** The endings in display order, each with its label and what happened to the calls. */
export const ENDINGS = [
  { name: 'ok', label: 'Success', words: 'succeeded' },
  { name: 'injected', label: 'Injected error', words: 'had an injected error' },
  { name: 'real', label: 'Real error', words: 'had a real error' },
  { name: 'unattributed', label: 'Unattributed error', words: 'had an error of unknown origin' },
  { name: 'squall', label: 'Squall’s own error', words: 'failed because of Squall itself' },
  { name: 'client', label: 'Not sent', words: 'were not sent by the client' },
  { name: 'wrong', label: 'Wrong result', words: 'returned a wrong result' },
  { name: 'late', label: 'Too late', words: 'missed their deadline' },
] as const

export function endingsOf({ counts, errors }: LoadResult): Endings {
  return toolEndings({ ...counts, ok: counts.success, errors })
}

export function toolEndings({
  ok,
  responded,
  correct,
  errors,
}: Pick<ToolResult, 'ok' | 'responded' | 'correct' | 'errors'>): Endings {
  const by = noErrors()
  for (const { origin, count } of errors) by[origin] += count
  return { ok, ...by, wrong: responded - correct, late: correct - ok }
}
