import { alignedLines, asInvoked, plain, shortDigest } from '#base'
import { problemLine } from './progress-output.ts'
import { armedText } from './await-rules.ts'
import type { ArmedProduction } from './production-namespaces.ts'
import type { sidecarOverview, SidecarReport } from './sidecar-overview.ts'

/** The sidecars, and the namespaces of production in which some are armed. */
export interface Status extends Awaited<ReturnType<typeof sidecarOverview>> {
  readonly production: readonly ArmedProduction[]
  /** The reason why labels of namespaces could not be read. */
  readonly productionTrouble: string | undefined
}

const HEAD = ['NAMESPACE', 'POD', 'MODE', 'STATE', 'RULES', 'DIGEST', 'SAMPLED'] as const
const MAX_RULES = 20

/** Returns whether a sidecar is absent or cannot be asked, or is armed in production. */
export function hasTrouble({ reports, production }: Status): boolean {
  return reports.some(isTroubled) || production.some(({ isAllowed }) => !isAllowed)
}

function isTroubled({ pod, state }: SidecarReport): boolean {
  return pod.sidecar === 'absent' || (pod.sidecar === 'running' && state === undefined)
}

export function statusText(status: Status, namespace: string | undefined): string {
  const { reports } = status
  if (reports.length === 0) {
    const where = namespace === undefined ? 'any namespace' : namespace
    return `no pod in ${where} has or requests a sidecar; add the annotation squall.dev/inject: "true" to a pod template\n`
  }
  const table = alignedLines([HEAD, ...reports.map(rowOf)])
  const notes = statusNotes(status)
  return `${table.join('\n')}\n${notes.length === 0 ? '' : `\n${notes.join('\n')}\n`}`
}

/** Returns the notes below the table. */
export function statusNotes(status: Status): readonly string[] {
  const { reports, production, productionTrouble, servicesTrouble } = status
  const troubles = [productionTrouble, servicesTrouble].filter((each) => each !== undefined)
  return [
    ...production.map(productionNote),
    ...reports.flatMap((each) => [...notesOf(each), ...warningsOf(each)]),
    ...troubles.map(plain),
  ]
}

function productionNote({ namespace, armed, why, isAllowed }: ArmedProduction): string {
  const count = armed === 1 ? '1 sidecar is' : `${armed} sidecars are`
  const head = `production: ${count} armed in namespace ${plain(namespace)}`
  if (isAllowed) return `${head}, which its owner allows: ${why}`
  return `${head}: ${why}; end faults with ${asInvoked(`squall stop -n ${plain(namespace)}`)}`
}

export function rowOf({ pod, state, rules, digest }: SidecarReport): readonly string[] {
  const sampled = rules.reduce((sum, rule) => sum + rule.sampled, 0)
  const known = state !== undefined
  return [
    plain(pod.namespace),
    plain(pod.name),
    plain(pod.mode),
    known ? (state.armed ? (state.dryRun ? 'armed (dry run)' : 'armed') : 'disarmed') : pod.sidecar,
    known ? String(state.rules.count) : '-',
    // A digest that differs stands out.
    known ? `${shortDigest(state.rules.digest)}${digest === 'other' ? ' !' : ''}` : '-',
    known ? String(sampled) : '-',
  ]
}

function notesOf(report: SidecarReport): readonly string[] {
  const { pod, state, rules, trouble, digest, clock } = report
  const name = `${plain(pod.namespace)}/${plain(pod.name)}`
  if (state === undefined) return [`${name}: ${plain(trouble ?? 'not known')}`]
  const notes: string[] = []
  if (!state.armed) notes.push(`${name}: ${armedText(state)}`)
  if (clock !== undefined) notes.push(`${name}: ${clock}`)
  const last = state.lastReload
  if (last?.result === 'rejected') {
    notes.push(`${name}: the latest rules are invalid; the previous rules stay active`)
    for (const each of (last.problems ?? []).slice(0, MAX_RULES)) {
      notes.push(`  ${problemLine(each)}`)
    }
  } else if (digest === 'other') {
    notes.push(
      `${name}: its rules still differ from those of the configmap ${pod.rules?.configMap ?? ''}`,
    )
  }
  const timed = rules.filter(
    ({ until, builtIn, phase }) => until !== null && !builtIn && phase !== 'disabled',
  )
  for (const { name: rule, phase, until, appliedAt } of timed.slice(0, MAX_RULES)) {
    const ends = phase === 'expired' ? 'expired' : 'ends'
    const from = appliedAt === null ? '' : `, applied ${appliedAt}`
    notes.push(`${name}: ${rule} ${ends} ${until ?? ''}${from}`)
  }
  if (state.unanchored.length > 0) {
    const list = state.unanchored.slice(0, MAX_RULES).join(', ')
    notes.push(
      `${name}: the time counts from the start of each pod: ${list}; ${asInvoked('squall apply')} sets appliedAt`,
    )
  }
  const idle = rules.filter(({ sampled, builtIn }) => sampled === 0 && !builtIn)
  if (idle.length > 0) {
    const named = idle.slice(0, MAX_RULES).map((rule) => `${rule.name} (${rule.phase})`)
    const more = idle.length > MAX_RULES ? `, and ${idle.length - MAX_RULES} more` : ''
    notes.push(`${name}: sampled no call: ${named.join(', ')}${more}`)
  }
  return notes
}

/** Returns the warnings that the pod keeps, which controllers show to nobody. */
function warningsOf({ pod, warnings }: SidecarReport): readonly string[] {
  return warnings.map(
    (each) => `${plain(pod.namespace)}/${plain(pod.name)}: warning: ${plain(each)}`,
  )
}

/** Returns the whole status as JSON. */
export function statusDocument(status: Status): object {
  const { reports, production, productionTrouble, servicesTrouble } = status
  return {
    ok: !hasTrouble(status),
    servicesTrouble: servicesTrouble ?? null,
    production: production.map(({ isAllowed, ...each }) => ({ ...each, allowed: isAllowed })),
    productionTrouble: productionTrouble ?? null,
    pods: reports.map(({ pod, state, rules, trouble, digest, clock, warnings }) => ({
      namespace: pod.namespace,
      pod: pod.name,
      sidecar: pod.sidecar,
      mode: pod.mode,
      configMap: pod.rules?.configMap ?? null,
      trouble: trouble ?? null,
      digestIs: digest,
      clock: clock ?? null,
      warnings,
      state: state ?? null,
      sampled: rules.reduce((sum, rule) => sum + rule.sampled, 0),
      rules,
    })),
  }
}
