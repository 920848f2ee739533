import { digestOf } from './compile.ts'
import { editRulesText, ruleNodes, saysSame } from './edit-rules-text.ts'
import { instantText } from './instant.ts'
import { parseRules } from './parse.ts'
import type { RuleSpec } from './rule-spec.ts'
import type { RulesFile } from './schema.ts'
import { type Document, isMap, isScalar, parseDocument } from 'yaml'

/** When rules are applied, and what was there before. Times are milliseconds since the epoch. */
export interface Applying {
  readonly now: number
  /** The text whose place it takes, if any. */
  readonly before?: string | undefined
  /** When that was written, for rules that do not say it. */
  readonly beforeAt?: number | undefined
  /** No rule acts longer than this, in milliseconds; all of them start anew then. */
  readonly lasts?: number | undefined
}

/**
 * Writes into rules when they were applied. A rule that is the same as before keeps its time. Text
 * that says it by itself, text without rules and text that is wrong stay as they are; undefined when
 * the text is written in a way in which nothing can be added to it.
 */
export function anchorText(text: string, applying: Applying): string | undefined {
  const { now, lasts } = applying
  const parsed = parseRules(text)
  if (!parsed.ok || parsed.file.rules.length === 0) return text
  const isWritten = saysAppliedAt(text)
  if (isWritten && lasts === undefined) return text
  const second = Math.floor(now / 1000) * 1000
  const before = lasts === undefined ? timesBefore(applying) : new Map<string, number>()
  const times = parsed.file.rules.map((rule) => {
    if (lasts !== undefined) return second
    return rule.appliedAt ?? before.get(keyOf(rule)) ?? second
  })
  const ofFile = Math.max(...times)
  const until = lasts === undefined ? undefined : second + lasts
  const wanted = parsed.file.rules.map((rule, i) => ({
    ...rule,
    appliedAt: times[i]!,
    ...(until !== undefined && { until: Math.min(rule.until ?? Infinity, until) }),
  }))
  const own = parsed.file.rules.map(({ appliedAt }) => appliedAt)
  return editRulesText(
    text,
    (document) => {
      writeAbove(document, 'appliedAt', ofFile)
      writeAbove(document, 'until', until)
      for (const [i, rule] of ruleNodes(document).entries()) {
        if (times[i] === ofFile) rule.delete('appliedAt')
        else if (own[i] !== times[i]) rule.set('appliedAt', instantText(times[i]))
      }
    },
    (file) =>
      saysSame(sorted(file.rules), sorted(wanted)) && saysSame(rest(file), rest(parsed.file)),
  )
}

/** Whether the file as a whole says when it was applied. */
function saysAppliedAt(text: string): boolean {
  const { contents } = parseDocument(text)
  return isMap(contents) && contents.has('appliedAt')
}

/** When the rules before were applied, each as it is written. */
function timesBefore({ before, beforeAt }: Applying): ReadonlyMap<string, number> {
  const parsed = before === undefined ? undefined : parseRules(before)
  const times = new Map<string, number>()
  for (const rule of parsed?.ok === true ? parsed.file.rules : []) {
    const at = rule.appliedAt ?? (beforeAt && Math.floor(beforeAt / 1000) * 1000)
    if (at !== undefined) times.set(keyOf(rule), at)
  }
  return times
}

function keyOf(rule: RulesFile['rules'][number]): string {
  return digestOf(rule as RuleSpec)
}

/** Writes a key above the rules, below what is said about the whole file. */
function writeAbove(document: Document, key: string, at: number | undefined): void {
  if (at === undefined) return
  const { contents } = document
  if (!isMap(contents)) throw new TypeError('the file is no map')
  if (contents.has(key)) {
    contents.set(key, instantText(at))
    return
  }
  const index = contents.items.findIndex((pair) => isScalar(pair.key) && pair.key.value === 'rules')
  const below = contents.items[index]?.key
  const pair = document.createPair(key, instantText(at))
  // What stands above the first key is about the file.
  if (index === 0 && isScalar(below) && isScalar(pair.key) && below.commentBefore) {
    pair.key.commentBefore = below.commentBefore
    below.commentBefore = null
  }
  contents.items.splice(Math.max(index, 0), 0, pair as never)
}

function rest(file: RulesFile): object {
  return { ...file, rules: [] }
}

/** The order of keys says nothing. */
function sorted(rules: readonly object[]): unknown {
  return rules.map((rule) =>
    Object.fromEntries(Object.entries(rule).sort(([a], [b]) => (a < b ? -1 : 1))),
  )
}
