import type { LeftOutTool } from '../load/results/result.ts'

const MAX_SHOWN = 20
const WORDS = { destructive: 'destructive', not_read_only: 'not read-only', no_hint: 'no hint' }

/** Says which tools were not called, and why. */
export function leftOutWords(leftOut: readonly LeftOutTool[]): string {
  const shown = leftOut.slice(0, MAX_SHOWN).map(({ tool, why }) => `${tool} (${WORDS[why]})`)
  if (leftOut.length > MAX_SHOWN) shown.push(`… ${leftOut.length - MAX_SHOWN} more`)
  return shown.join(', ')
}
