import { alignedLines, asInvoked, plain, shortDigest } from '#base'
import { problemLine } from './progress-output.ts'
import { armedText } from './await-rules.ts'
import type { InjectedPod } from './injected-pod.ts'
import type { ArmedProduction } from './production-namespaces.ts'
import type { sidecarOverview, SidecarReport } from './sidecar-overview.ts'

/** The sidecars, and the namespaces of production in which some are armed. */
export interface Status extends Awaited<ReturnType<typeof sidecarOverview>> {
  readonly production: readonly ArmedProduction[]
  /** The reason why labels of namespaces could not be read. */
  readonly productionTrouble: string | undefined
  /** The flags by which a suggested command finds the same sidecars. */
  readonly place: string
}

const HEAD = ['NAMESPACE', 'POD', 'MODE', 'STATE', 'RULES', 'DIGEST', 'SAMPLED'] as const
const MAX_RULES = 20
/** The lines of a status that does not list each pod: rows and notes have half of them each. */
const MAX_LINES = 40
const MAX_PART = MAX_LINES / 2 - 2
const MAX_NAMES = 3

/** Returns whether a sidecar is absent, unreachable, or armed in production. */
export function hasTrouble({ reports, production }: Status): boolean {
  return reports.some(isTroubled) || production.some(({ isAllowed }) => !isAllowed)
}

function isTroubled({ pod, state }: SidecarReport): boolean {
  return pod.sidecar === 'absent' || (pod.sidecar === 'running' && state === undefined)
}

/** Shows the status to people; pods of which there are too many are summed up unless `isAll`. */
export function statusText(status: Status, namespace: string | undefined, isAll: boolean): string {
  const { reports } = status
  if (reports.length === 0) {
    const where = namespace === undefined ? 'any namespace' : namespace
    return `no pod in ${where} has or requests a sidecar; add the annotation squall.dev/inject: "true" to a pod template\n`
  }
  const each = statusNotes(status)
  const isListed = isAll || reports.length + each.length + 2 <= MAX_LINES
  const rows = isListed ? reports.map(rowOf) : summedRows(reports)
  const [head, ...lines] = alignedLines([HEAD, ...rows])
  const table = isListed ? lines : limited(lines, 'groups of pods')
  const notes = isListed ? each : limited(summedNotes(status), 'notes; --all lists each pod')
  return `${[head, ...table].join('\n')}\n${notes.length === 0 ? '' : `\n${notes.join('\n')}\n`}`
}

function limited(lines: readonly string[], what: string): readonly string[] {
  if (lines.length <= MAX_PART) return lines
  return [...lines.slice(0, MAX_PART), `and ${lines.length - MAX_PART} more ${what}`]
}

/** Joins the rows of pods that differ only in their names and counts. */
function summedRows(reports: readonly SidecarReport[]): readonly (readonly string[])[] {
  const groups = new Map<string, { rows: (readonly string[])[]; sampled: number }>()
  for (const report of troubledFirst(reports)) {
    const row = rowOf(report)
    const key = JSON.stringify([row[0], ...row.slice(2, -1)])
    const { rows, sampled } = groups.get(key) ?? { rows: [], sampled: 0 }
    rows.push(row)
    groups.set(key, { rows, sampled: sampled + sampledOf(report) })
  }
  return [...groups.values()].map(({ rows, sampled }) => {
    const [namespace = '', , ...cells] = rows[0]!
    if (rows.length === 1) return rows[0]!
    const last = cells.at(-1) === '-' ? '-' : String(sampled)
    return [namespace, `${rows.length} pods`, ...cells.slice(0, -1), last]
  })
}

/** Joins the notes that pods have in common. */
function summedNotes(status: Status): readonly string[] {
  const groups = new Map<string, { note: string; pods: InjectedPod[] }>()
  for (const report of troubledFirst(status.reports)) {
    const { pod } = report
    for (const note of notesOf(report)) {
      const key = note.replaceAll(pod.name, '')
      const group = groups.get(key) ?? { note, pods: [] }
      group.pods.push(pod)
      groups.set(key, group)
    }
  }
  const notes = [...groups.values()].map(({ pods, note }) => withNames(pods, note))
  return [...clusterNotes(status), ...notes]
}

function troubledFirst(reports: readonly SidecarReport[]): readonly SidecarReport[] {
  return reports.toSorted((one, other) => Number(isTroubled(other)) - Number(isTroubled(one)))
}

/** Puts the names of pods before a note; lines of a note that go on have none. */
function withNames(pods: readonly InjectedPod[], note: string): string {
  if (note.startsWith('  ')) return note
  const names = pods.slice(0, MAX_NAMES).map((pod) => plain(`${pod.namespace}/${pod.name}`))
  const more = pods.length > MAX_NAMES ? ` and ${pods.length - MAX_NAMES} more` : ''
  return `${names.join(', ')}${more}: ${note}`
}

/** Returns the notes below the table. */
export function statusNotes(status: Status): readonly string[] {
  const notes = status.reports.flatMap((each) =>
    notesOf(each).map((note) => withNames([each.pod], note)),
  )
  return [...clusterNotes(status), ...notes]
}

/** Returns the notes that are about no pod alone. */
function clusterNotes({ production, productionTrouble, servicesTrouble, place }: Status) {
  const troubles = [productionTrouble, servicesTrouble].filter((each) => each !== undefined)
  return [...production.map((each) => productionNote(each, place)), ...troubles.map(plain)]
}

function productionNote(
  { namespace, armed, why, isAllowed }: ArmedProduction,
  place: string,
): string {
  const count = armed === 1 ? '1 sidecar is' : `${armed} sidecars are`
  const head = `production: ${count} armed in namespace ${plain(namespace)}`
  if (isAllowed) return `${head}, which its owner allows: ${why}`
  return `${head}: ${why}; end faults with ${asInvoked(`squall stop -n ${plain(namespace)}${place}`)}`
}

function sampledOf({ rules }: SidecarReport): number {
  return rules.reduce((sum, rule) => sum + rule.sampled, 0)
}

export function rowOf(report: SidecarReport): readonly string[] {
  const { pod, state, digest } = report
  const known = state !== undefined
  return [
    plain(pod.namespace),
    plain(pod.name),
    plain(pod.mode),
    known ? (state.armed ? (state.dryRun ? 'armed (dry run)' : 'armed') : 'disarmed') : pod.sidecar,
    known ? String(state.rules.count) : '-',
    // A digest that differs stands out.
    known ? `${shortDigest(state.rules.digest)}${digest === 'other' ? ' !' : ''}` : '-',
    known ? String(sampledOf(report)) : '-',
  ]
}

function notesOf(report: SidecarReport): readonly string[] {
  const { pod, state, rules, trouble, digest, clock } = report
  // Warnings that the pod keeps, which controllers show to nobody.
  const warnings = report.warnings.map((each) => `warning: ${plain(each)}`)
  if (state === undefined) return [plain(trouble ?? 'not known'), ...warnings]
  const notes: string[] = []
  if (!state.armed) notes.push(armedText(state))
  if (clock !== undefined) notes.push(clock)
  const last = state.lastReload
  if (last?.result === 'rejected') {
    notes.push('the latest rules are invalid; the previous rules stay active')
    for (const each of (last.problems ?? []).slice(0, MAX_RULES)) {
      notes.push(`  ${problemLine(each)}`)
    }
  } else if (digest === 'other') {
    notes.push(
      `its rules still differ from the rules in the configmap ${pod.rules?.configMap ?? ''}`,
    )
  }
  const timed = rules.filter(
    ({ until, builtIn, phase }) => until !== null && !builtIn && phase !== 'disabled',
  )
  for (const { name: rule, phase, until, appliedAt } of timed.slice(0, MAX_RULES)) {
    const ends = phase === 'expired' ? 'expired' : 'ends'
    const from = appliedAt === null ? '' : `, applied ${appliedAt}`
    notes.push(`${rule} ${ends} ${until ?? ''}${from}`)
  }
  if (state.unanchored.length > 0) {
    const list = state.unanchored.slice(0, MAX_RULES).join(', ')
    notes.push(`timing starts with each pod: ${list}; ${asInvoked('squall apply')} sets appliedAt`)
  }
  const idle = rules.filter(({ sampled, builtIn }) => sampled === 0 && !builtIn)
  if (idle.length > 0) {
    const named = idle.slice(0, MAX_RULES).map((rule) => `${rule.name} (${rule.phase})`)
    const more = idle.length > MAX_RULES ? `, and ${idle.length - MAX_RULES} more` : ''
    notes.push(`sampled no call: ${named.join(', ')}${more}`)
  }
  return [...notes, ...warnings]
}

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
