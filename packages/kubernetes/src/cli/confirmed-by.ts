import { askPrometheus, MonitorError } from '#protocol'
import type { AwaitedPod } from '../kube/apply-rules.ts'
import type { PodCheck, PodProgress } from '../kube/await-rules.ts'
import type { Rollout } from './rollout.ts'

const SUGGESTED_ABOVE = 500
const SAMPLED = 20
/** The metric, matchers and value with which sidecars show that they are done. */
type Series = readonly [metric: string, matchers: string, value: 0 | 1]

const WAITING: PodProgress = { state: 'waiting', detail: 'not in Prometheus yet' }

/**
 * Returns a check that looks pods up in the Prometheus of --confirm and asks a sample of the open
 * ones directly; all of them once Prometheus was wrong. Without --confirm, returns the check itself.
 */
export function confirmedBy(
  run: Rollout,
  progress: Map<AwaitedPod, PodProgress>,
  check: PodCheck,
  state: 'applied' | 'stopped' | 'resumed',
  series: Series,
): PodCheck {
  const { request, signal } = run
  const open = () => [...progress].filter(([, now]) => now.state === 'waiting')
  if (request.confirm === undefined) {
    const hint = `querying ${open().length} sidecars directly; with --confirm prometheus=URL, Prometheus confirms most of them\n`
    if (open().length > SUGGESTED_ABOVE && !request.json) run.output.err.write(hint)
    return check
  }
  const read = readerOf(run, request.confirm, series)
  const done: PodProgress = { state, detail: 'by Prometheus' }
  let shown: ReadonlySet<string> = new Set()
  let sample: ReadonlySet<AwaitedPod> = new Set()
  let looking: Promise<void> | undefined
  let isTrusted = true
  const distrust = (why: string): void => {
    if (!isTrusted || signal.aborted) return
    isTrusted = false
    run.warn(`${why}; each sidecar is queried directly`)
    for (const [each, now] of progress) if (now === done) progress.set(each, WAITING)
  }
  const look = async (): Promise<void> => {
    shown = await read().catch((error: unknown) => {
      if (!(error instanceof MonitorError)) throw error
      distrust(`Prometheus cannot be read: ${error.message}`)
      return new Set()
    })
    // Every nth open pod from a random one on: a sample of all workloads.
    const step = Math.ceil(open().length / SAMPLED)
    const first = Math.floor(Math.random() * step)
    sample = new Set(open().flatMap(([each], at) => (at % step === first ? each : [])))
    setTimeout(() => (looking = undefined), 1_000).unref()
  }
  return async (client, each, options) => {
    if (isTrusted) await (looking ??= look())
    const { namespace, name } = each.pod
    const isShown = shown.has(JSON.stringify([namespace, name, each.digest]))
    if (isTrusted && !sample.has(each)) return isShown ? done : WAITING
    const asked = await check(client, each, options)
    const isOpen = asked.state === 'waiting' && asked.silent !== true
    if (asked.state === 'rejected') distrust(`${name} rejected the rules`)
    else if (isShown && isOpen) distrust(`Prometheus and the sidecar of ${name} disagree`)
    return asked
  }
}

/** Returns a function that reads which pods have samples with a value, from now on. */
function readerOf(
  { client, request, signal }: Rollout,
  url: URL,
  [metric, matchers, value]: Series,
) {
  // JSON escapes as PromQL does.
  const more = [...url.searchParams].map(([name, text]) => `, ${name}=~${JSON.stringify(text)}`)
  const series = `${metric}{${matchers}${more.join('')}}`
  const query = `max by (namespace, pod, digest) (timestamp(${series}) and ${series} == ${value})`
  const token = request.cluster.env['SQUALL_MONITOR_TOKEN']?.trim()
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  // Older samples may be of the same rules, applied earlier.
  const since = client.now() / 1000
  return async (): Promise<ReadonlySet<string>> => {
    const rows = await askPrometheus(url, query, { headers, signal })
    const recent = rows.filter((row) => row.value >= since)
    return new Set(
      recent.map(({ labels: { namespace, pod, digest } }) =>
        JSON.stringify([namespace, pod, digest]),
      ),
    )
  }
}
