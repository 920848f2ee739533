import { notForPod } from '../../rules/match/pod-match.ts'
import { parseRules } from '../../rules/file/parse.ts'
import type { RulesFile } from '../../rules/file/schema.ts'
import type { InjectedPod } from './injected-pod.ts'

/** The effect of rules on a pod that reads their ConfigMap. */
export interface PodTarget {
  readonly pod: InjectedPod
  /** True when any of the rules is for it. */
  readonly isTarget: boolean
  /** True when it has to load the rules: it is a target, or was one of the previous rules. */
  readonly isReached: boolean
  /** Why no rule is for it. */
  readonly why: string | undefined
}

/** The effect of a change of rules on the pods that read them. */
export interface Targets {
  readonly pods: readonly PodTarget[]
  /** Rules whose place is taken, by name: they are in no key of that name any more. */
  readonly replaced: readonly string[]
}

const PART =
  /^\s*([A-Za-z0-9](?:[-A-Za-z0-9_./]{0,314}[A-Za-z0-9])?)\s*==?\s*((?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?)\s*$/

/** Returns the labels of a selector that says nothing but which labels are equal to what. */
export function equalityLabels(selector: string): Readonly<Record<string, string>> | undefined {
  const labels = new Map<string, string>()
  for (const part of selector.split(',')) {
    const [, key, value] = PART.exec(part) ?? []
    if (key === undefined || value === undefined) return undefined
    if ((labels.get(key) ?? value) !== value) return undefined
    labels.set(key, value)
  }
  return Object.fromEntries(labels)
}

/** Says for each pod whether rules are for it, and which rules before lose their place. */
export function targetsOf(
  pods: readonly InjectedPod[],
  text: string,
  before: string | undefined,
): Targets {
  const rules = rulesOf(text)
  const old = before === undefined ? [] : rulesOf(before)
  const names = new Set(rules.map(({ name }) => name))
  return {
    pods: pods.map((pod) => {
      const why = whyNot(pod, rules)
      const isTarget = why === undefined
      const wasTarget = old.length > 0 && whyNot(pod, old) === undefined
      return { pod, why, isTarget, isReached: isTarget || wasTarget }
    }),
    replaced: old.map(({ name }) => name).filter((name) => !names.has(name)),
  }
}

/** Why no rule is for a pod. A file without rules is for all of them: it ends faults. */
function whyNot(pod: InjectedPod, rules: RulesFile['rules']): string | undefined {
  let why: string | undefined
  for (const { match = {} } of rules) {
    const [first] = notForPod(match, pod.self)
    if (first === undefined) return undefined
    why ??= `${first.dimension} wants ${first.wants}, found ${first.found}`
  }
  return why
}

/** Returns the rules in a text; none where the text is invalid. */
export function rulesOf(text: string): RulesFile['rules'] {
  const parsed = parseRules(text)
  return parsed.ok ? parsed.file.rules : []
}
