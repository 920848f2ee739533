import { COMPILED, MAX_BETWEEN_CALLS } from './rules-parser.ts'
import { inThread } from '../../base/in-thread.ts'
import { sameJson } from '../../base/values.ts'
import { digestOf } from '../match/compile.ts'
import { RulesTextEdit } from './edit-rules-text.ts'
import { instantText } from '../../base/instant.ts'
import { parseRules } from './parse.ts'
import type { RulesFile } from './schema.ts'
import { isMap, parseDocument } from 'yaml'

/** The time of applying rules, and the replaced text. Times are milliseconds since the epoch. */
export interface Applying {
  readonly now: number
  /** The replaced text, if any. */
  readonly before?: string | undefined
  /** The time of the replaced text, for its rules without `appliedAt`. */
  readonly beforeAt?: number | undefined
  /**
   * The longest time for which a rule may act, in milliseconds. With it, the times of all rules
   * restart.
   */
  readonly lasts?: number | undefined
}

/** The texts to anchor. */
export interface AnchorJob {
  readonly kind: 'anchor'
  readonly texts: readonly { readonly text: string; readonly applying: Applying }[]
}

/** Anchors each text. */
export function anchorTexts({ texts }: AnchorJob): readonly (string | undefined)[] {
  return texts.map(({ text, applying }) => anchorText(text, applying))
}

/**
 * Writes `appliedAt` into rules. An unchanged rule keeps its time. Text that has the times, has no
 * rules or is invalid stays unchanged; returns undefined when nothing can be added to the text as
 * it is written.
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
  try {
    const edit = new RulesTextEdit(text)
    edit.set(edit.root, 'appliedAt', instantText(ofFile)!, 'rules')
    if (until !== undefined) edit.set(edit.root, 'until', instantText(until)!, 'rules')
    for (const [i, rule] of edit.rules.entries()) {
      // Behind the name, which readers look for first.
      const after = String(rule.items[1]?.key)
      const own = lasts === undefined ? parsed.file.rules[i]!.appliedAt : undefined
      if (times[i] !== ofFile && own !== times[i]) {
        edit.set(rule, 'appliedAt', instantText(times[i])!, after)
      } else if (lasts !== undefined && rule.has('appliedAt')) {
        edit.set(rule, 'appliedAt', instantText(ofFile)!)
      }
    }
    return edit.finish(
      (file) =>
        sameJson(sorted(file.rules), sorted(wanted)) && sameJson(rest(file), rest(parsed.file)),
    )
  } catch {
    return undefined
  }
}

/** Returns true when the file as a whole has `appliedAt`. */
function saysAppliedAt(text: string): boolean {
  const { contents } = parseDocument(text)
  return isMap(contents) && contents.has('appliedAt')
}

/** Returns when the replaced rules were applied, by the digest of each rule as written. */
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
  return digestOf(rule)
}

function rest(file: RulesFile): object {
  return { ...file, rules: [] }
}

/** Ignores the order of keys. */
function sorted(rules: readonly object[]): unknown {
  return rules.map((rule) =>
    Object.fromEntries(Object.entries(rule).sort(([a], [b]) => (a < b ? -1 : 1))),
  )
}

/**
 * Anchors texts, large ones in a worker thread. Returns undefined for each text that cannot be
 * anchored, and undefined alone when the signal aborts.
 */
export async function anchorWherever(
  texts: AnchorJob['texts'],
  signal: AbortSignal,
  script: URL | undefined = COMPILED,
): Promise<readonly (string | undefined)[] | undefined> {
  if (signal.aborted) return undefined
  const job: AnchorJob = { kind: 'anchor', texts }
  const size = texts.reduce((sum, each) => sum + each.text.length + lengthBefore(each), 0)
  if (script === undefined || size <= MAX_BETWEEN_CALLS) return anchorTexts(job)
  return inThread(script, job, signal)
}

function lengthBefore({ applying }: AnchorJob['texts'][number]): number {
  return applying.before?.length ?? 0
}

export type Labels = Readonly<Record<string, string>>

/** The text of rules for certain pods, or the error. */
export type TargetedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly wrong: string; readonly fix: string }

/** Writes `match.podLabels` into every rule of a valid file, so that no other pod is armed. */
export function targetText(text: string, labels: Labels): TargetedText {
  const parsed = parseRules(text)
  if (!parsed.ok || parsed.file.rules.length === 0) return { ok: true, text }
  for (const { name, match } of parsed.file.rules) {
    for (const [key, value] of Object.entries(labels)) {
      const own = match?.podLabels?.[key]
      if (own === undefined || own === value) continue
      return {
        ok: false,
        wrong: `the rule ${name} selects pods with ${key}=${own}, but --selector requires ${key}=${value}: it would act nowhere`,
        fix: 'remove podLabels from the rule, or apply without -l',
      }
    }
  }
  const wanted = withLabels(parsed.file, labels)
  if (sameJson(parsed.file, wanted)) return { ok: true, text }
  const edited = withPodLabels(text, labels, wanted)
  if (edited !== undefined) return { ok: true, text: edited }
  return {
    ok: false,
    wrong: 'podLabels cannot be added to each rule, because of the way the rules are written',
    fix: `write match: { podLabels: ${JSON.stringify(labels)} } into each rule, and apply without -l`,
  }
}

function withPodLabels(text: string, labels: Labels, wanted: RulesFile): string | undefined {
  try {
    const edited = new RulesTextEdit(text)
    for (const rule of edited.rules) edited.add(rule, ['match', 'podLabels'], labels)
    return edited.finish((file) => sameJson(file, wanted))
  } catch {
    return undefined
  }
}

function withLabels(file: RulesFile, labels: Labels): RulesFile {
  const rules = file.rules.map((rule) => ({
    ...rule,
    match: { ...rule.match, podLabels: { ...rule.match?.podLabels, ...labels } },
  }))
  return { ...file, rules }
}
