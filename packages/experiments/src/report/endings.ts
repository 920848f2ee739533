import { type LoadResult, type Origin, type ToolResult, noErrors } from '../load/results/result.ts'

/**
 * Counts calls by outcome, so that the counts add up to all calls: `ok` is correct and in time,
 * `wrong` responded without an error but incorrect, and `late` correct but after the deadline.
 */
export type Endings = Readonly<Record<Origin | 'ok' | 'wrong' | 'late', number>>

/** The endings with their labels, in display order. */
export const ENDINGS: readonly { readonly name: keyof Endings; readonly label: string }[] = [
  { name: 'ok', label: 'Success' },
  { name: 'injected', label: 'Injected error' },
  { name: 'real', label: 'Real error' },
  { name: 'unattributed', label: 'Unattributed error' },
  { name: 'squall', label: 'Squall’s own error' },
  { name: 'client', label: 'Not sent' },
  { name: 'wrong', label: 'Wrong result' },
  { name: 'late', label: 'Too late' },
]

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
