import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { type Fields, foreign, instantText } from '#base'
import { claimText, runningClaim } from '../kube/claimed-rules.ts'
import { lastChange, textBefore } from '../kube/config-map-rules.ts'
import { rulesOf } from '../kube/targets.ts'
import { isAhead, ruleEnd } from '#rules'
import { invalidCombination, invalidFile, UsageError } from '#cli'

/** The rules to write, and what they replace. */
export interface Replacing {
  readonly before: Fields | undefined
  readonly key: string
  readonly text: string
  readonly prefix: string
  /** The time of the API server. */
  readonly now: number
}

/** Rejects to replace rules while an experiment has claimed their ConfigMap. */
export function rejectClaimed({ before, prefix, now }: Replacing): void {
  const claim = runningClaim(before, prefix, now)
  if (claim === undefined) return
  throw new UsageError('IN_USE', claimText(claim), 'wait until it has ended, or use --force')
}

/** Rejects rules whose times would count from a time that has not come. */
export function rejectAhead({ text, now }: Replacing): void {
  const ahead = rulesOf(text).find(({ appliedAt }) => isAhead(appliedAt, now))
  if (ahead === undefined) return
  const at = `appliedAt of ${foreign(ahead.name)} is ${instantText(ahead.appliedAt)}`
  throw invalidFile(
    `${at}, but the clock of the API server shows ${instantText(Math.floor(now / 1000) * 1000)}`,
    'remove appliedAt, and write from: for a later start',
  )
}

/** Asks before rules without an end replace rules that have one; without a terminal, throws. */
export async function confirmEndless(
  replacing: Replacing,
  isTerminal: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { before, key, text, prefix, now } = replacing
  const old = rulesOf(textBefore(before, key) ?? '')
  // As --for writes it.
  const hadEnd = old.length > 0 && old.every(({ until }) => until !== undefined)
  if (!hadEnd || rulesOf(text).every((rule) => ruleEnd(rule, now) !== Infinity)) return
  const wrong = `the rules in ${key}, ${lastChange(before, key, prefix)}, have an end, but the new rules have none`
  if (isTerminal && (await isConfirmed(`${wrong}; apply them? [y/N] `, signal))) return
  throw invalidCombination(wrong, 'end them with --for 15m, or use --force')
}

async function isConfirmed(question: string, signal: AbortSignal): Promise<boolean> {
  // Ctrl-C stays a signal.
  const { stdin: input, stderr: output } = process
  const prompt = createInterface({ input, output, terminal: false })
  try {
    const closed = once(prompt, 'close').then(() => '')
    const text = await Promise.race([prompt.question(question, { signal }), closed])
    return /^y(es)?$/i.test(text.trim())
  } finally {
    prompt.close()
  }
}
