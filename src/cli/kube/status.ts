import { problemText } from '../../admin/api-client.ts'
import { plain } from '../../base/text/foreign-text.ts'
import { armedText, shortDigest } from '../../cluster/kube/await-rules.ts'
import { sidecarOverview, type SidecarReport } from '../../cluster/kube/sidecar-overview.ts'
import { clientFor, onInterrupt } from './cluster-options.ts'
import type { ProgressStream } from './progress-output.ts'
import type { StatusRequest } from './status-options.ts'

const FAILED = 1
const HEAD = ['NAMESPACE', 'POD', 'MODE', 'STATE', 'RULES', 'DIGEST', 'HITS'] as const
const MAX_RULES = 20

/** `squall status`: says how every sidecar is; 1 when one of them could not be asked. */
export async function statusCommand(
  { cluster, allNamespaces, json }: StatusRequest,
  out: ProgressStream = process.stdout,
): Promise<number> {
  const client = await clientFor(cluster)
  const { signal, release } = onInterrupt()
  const namespace = allNamespaces ? undefined : (cluster.namespace ?? client.namespace)
  try {
    const { selector, prefix, readToken } = cluster
    const { reports, servicesTrouble } = await sidecarOverview(
      client,
      { namespace, selector, prefix, readToken },
      { signal },
    )
    out.write(
      json
        ? reportsJson(reports, servicesTrouble)
        : reportsText(reports, namespace, servicesTrouble),
    )
    return reports.some(isTroubled) ? FAILED : 0
  } catch (error) {
    if (!signal.aborted) throw error
    return FAILED
  } finally {
    release()
    await client.close()
  }
}

function isTroubled({ pod, state }: SidecarReport): boolean {
  return pod.sidecar === 'absent' || (pod.sidecar === 'running' && state === undefined)
}

function reportsText(
  reports: readonly SidecarReport[],
  namespace: string | undefined,
  servicesTrouble: string | undefined,
): string {
  if (reports.length === 0) {
    const where = namespace === undefined ? 'any namespace' : namespace
    return `no pod in ${where} has a sidecar or asks for one; add the annotation squall.dev/inject: "true" to a pod template\n`
  }
  const rows = reports.map(rowOf)
  const widths = HEAD.map((head, i) => Math.max(head.length, ...rows.map((row) => row[i]!.length)))
  const table = [HEAD, ...rows].map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
  const notes = reports.flatMap((each) => [...notesOf(each), ...warningsOf(each)])
  if (servicesTrouble !== undefined) notes.push(plain(servicesTrouble))
  return `${table.join('\n')}\n${notes.length === 0 ? '' : `\n${notes.join('\n')}\n`}`
}

function rowOf({ pod, state, rules, digest }: SidecarReport): readonly string[] {
  const hits = rules.reduce((sum, rule) => sum + rule.hits, 0)
  const known = state !== undefined
  return [
    plain(pod.namespace),
    plain(pod.name),
    plain(pod.mode),
    known ? (state.armed ? (state.dryRun ? 'armed (dry run)' : 'armed') : 'disarmed') : pod.sidecar,
    known ? String(state.rules.count) : '-',
    // Different ones stand out.
    known ? `${shortDigest(state.rules.digest)}${digest === 'other' ? ' !' : ''}` : '-',
    known ? String(hits) : '-',
  ]
}

function notesOf(report: SidecarReport): readonly string[] {
  const { pod, state, rules, trouble, digest } = report
  const name = `${plain(pod.namespace)}/${plain(pod.name)}`
  if (state === undefined) return [`${name}: ${plain(trouble ?? 'not known')}`]
  const notes: string[] = []
  if (!state.armed) notes.push(`${name}: ${armedText(state)}`)
  const last = state.lastReload
  if (last?.result === 'rejected') {
    notes.push(`${name}: the newest rules have mistakes, the last good ones stay active`)
    for (const each of (last.problems ?? []).slice(0, MAX_RULES)) {
      notes.push(`  ${each.file}:${each.line}:${each.column}: ${problemText(each)}`)
    }
  } else if (digest === 'other') {
    notes.push(
      `${name}: its rules are not those of the configmap ${pod.rules?.configMap ?? ''} yet`,
    )
  }
  const timed = rules.filter(({ until, builtIn }) => until !== null && !builtIn)
  for (const { name: rule, phase, until, appliedAt } of timed.slice(0, MAX_RULES)) {
    const ends = phase === 'expired' ? 'expired' : 'ends'
    const from = appliedAt === null ? '' : `, applied ${appliedAt}`
    notes.push(`${name}: ${rule} ${ends} ${until ?? ''}${from}`)
  }
  if (state.unanchored.length > 0) {
    const list = state.unanchored.slice(0, MAX_RULES).join(', ')
    notes.push(
      `${name}: the time counts from the start of the pod, and again in every new one: ${list}; squall apply writes when rules were applied`,
    )
  }
  const idle = rules.filter(({ hits, builtIn }) => hits === 0 && !builtIn)
  if (idle.length > 0) {
    const named = idle.slice(0, MAX_RULES).map((rule) => `${rule.name} (${rule.phase})`)
    const more = idle.length > MAX_RULES ? `, and ${idle.length - MAX_RULES} more` : ''
    notes.push(`${name}: never hit: ${named.join(', ')}${more}`)
  }
  return notes
}

/** Warnings are kept by the pod, since nobody sees those of pods that controllers make. */
function warningsOf({ pod, warnings }: SidecarReport): readonly string[] {
  return warnings.map(
    (each) => `${plain(pod.namespace)}/${plain(pod.name)}: warning: ${plain(each)}`,
  )
}

function reportsJson(
  reports: readonly SidecarReport[],
  servicesTrouble: string | undefined,
): string {
  const pods = reports.map(({ pod, state, rules, trouble, digest, warnings }) => ({
    namespace: pod.namespace,
    pod: pod.name,
    sidecar: pod.sidecar,
    mode: pod.mode,
    configMap: pod.rules?.configMap ?? null,
    trouble: trouble ?? null,
    digestIs: digest,
    warnings,
    state: state ?? null,
    hits: rules.reduce((sum, rule) => sum + rule.hits, 0),
    rules,
  }))
  return `${JSON.stringify({ ok: !reports.some(isTroubled), servicesTrouble: servicesTrouble ?? null, pods }, null, 2)}\n`
}
