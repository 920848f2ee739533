import { notForPod, parseRules, type RulesFile } from '#rules'
import type { InjectedPod } from './injected-pod.ts'

/** The effect of a change of rules on the pods that read them. */
export type Targets = ReturnType<typeof targetsOf>
export type PodTarget = Targets['pods'][number]

const PART =
  /^\s*([A-Za-z0-9](?:[-A-Za-z0-9_./]{0,314}[A-Za-z0-9])?)\s*==?\s*((?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?)\s*$/

/** Returns the labels of a selector; undefined where it compares otherwise than by equality. */
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

/** Decides for each pod whether rules are for it, and finds the previous rules that are gone. */
export function targetsOf(pods: readonly InjectedPod[], text: string, before: string | undefined) {
  const rules = rulesOf(text)
  const old = before === undefined ? [] : rulesOf(before)
  const names = new Set(rules.map(({ name }) => name))
  return {
    pods: pods.map((pod) => {
      /** The reason why no rule is for the pod. */
      const why = whyNot(pod, rules)
      const isTarget = why === undefined
      const wasTarget = old.length > 0 && whyNot(pod, old) === undefined
      // Pods that were targets must load the rules, too.
      return { pod, why, isTarget, isReached: isTarget || wasTarget }
    }),
    replaced: old.map(({ name }) => name).filter((name) => !names.has(name)),
  }
}

/** Returns why no rule is for a pod. A file without rules is for every pod: it ends faults. */
function whyNot(pod: InjectedPod, rules: RulesFile['rules']): string | undefined {
  let why: string | undefined
  for (const { match = {} } of rules) {
    const [first] = notForPod(match, pod.self)
    if (first === undefined) return undefined
    why ??= `${first.dimension} expected ${first.wants}, got ${first.found}`
  }
  return why
}

/** Returns the rules in a text; none where the text is invalid. */
export function rulesOf(text: string): RulesFile['rules'] {
  const parsed = parseRules(text)
  return parsed.ok ? parsed.file.rules : []
}
