import { WHOLE_MOUNT, type ConfigMapKeys, mountedTexts } from '../kube/config-map-rules.ts'
import { canAct, foundTexts, MAX_FILES, parseWherever, problemLines, type RulesText } from '#rules'
import { DecideError } from './decide-pod.ts'
import type { ActingRule } from './rules-policy.ts'

/** The result of checking all keys of a ConfigMap. */
export interface CheckedKeys {
  /** One line for each problem, as `squall validate` writes them. */
  readonly lines: readonly string[]
  /** True when any rule could ever act. */
  readonly canAct: boolean
  /** The rules that inject faults. */
  readonly acting: readonly ActingRule[]
  /** The latest `appliedAt` of a rule; -Infinity without one. */
  readonly appliedAt: number
}

const NOTHING: CheckedKeys = { lines: [], canAct: false, acting: [], appliedAt: -Infinity }

/** Checks all keys together, as a sidecar reads them, or each by itself. */
export async function checkKeys(
  keys: ConfigMapKeys,
  separate: boolean,
  signal: AbortSignal,
): Promise<CheckedKeys> {
  const texts = mountedTexts(keys, WHOLE_MOUNT)
  if (texts.length > MAX_FILES && !separate) {
    return { ...NOTHING, lines: [`has more than ${MAX_FILES} rules files`] }
  }
  const groups = separate ? texts.map((text) => [text]) : [texts]
  let found = NOTHING
  for (const group of groups) {
    const one = await checkTexts(group, !separate, signal)
    found = {
      lines: [...found.lines, ...one.lines],
      canAct: found.canAct || one.canAct,
      acting: [...found.acting, ...one.acting],
      appliedAt: Math.max(found.appliedAt, one.appliedAt),
    }
  }
  return found
}

async function checkTexts(
  texts: readonly RulesText[],
  isDirectory: boolean,
  signal: AbortSignal,
): Promise<CheckedKeys> {
  const version = await parseWherever(foundTexts(texts, isDirectory), signal)
  if (version === undefined) throw tooSlow()
  if (version.kind !== 'rejected') {
    const rules = version.kind === 'rules' ? version.file.rules : []
    const times = rules.map(({ appliedAt = -Infinity }) => appliedAt)
    const may = canAct(version)
    const acting = may ? rules.filter(({ enabled, dryRun }) => enabled && !dryRun) : []
    return { lines: [], canAct: may, acting, appliedAt: Math.max(-Infinity, ...times) }
  }
  const lines = version.problems.flatMap((each) => problemLines(each).trimEnd().split('\n'))
  return { ...NOTHING, lines }
}

/** Returns the error for rules that took too long. */
export function tooSlow(): DecideError {
  return new DecideError('slow_rules', 'checking the rules timed out')
}
