import type { RefusedReason } from './injection.ts'

/** Why a pod cannot be injected, thrown to where it becomes a result. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly reason: RefusedReason

  constructor(reason: RefusedReason, wrong: string, mend: string) {
    super(`${wrong}: ${mend}`)
    this.reason = reason
  }
}

const MAX_SHOWN = 80

/** Somebody else's text as messages show it: in quotes, cut, and without anything a terminal obeys. */
export function quoted(text: string): string {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
  return `"${cut.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?')}"`
}
