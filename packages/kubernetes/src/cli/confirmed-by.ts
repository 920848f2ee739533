import { fieldsOf, listOf } from '#base'
import { askJson, MonitorError } from '#cli'
import type { AwaitedPod } from '../kube/apply-rules.ts'
import type { PodCheck, PodProgress } from '../kube/await-rules.ts'
import type { Rollout } from './rollout.ts'

/** The number of pods above which --confirm is suggested. */
const MANY = 500
/** The number of sidecars that are asked directly after each look at Prometheus. */
const SAMPLED = 20
const LOOK_MS = 1_000
const WAITING: PodProgress = { state: 'waiting', detail: 'not in Prometheus yet' }

/** Selects the series with which sidecars show that they are done. */
interface Done {
  readonly state: 'applied' | 'stopped' | 'resumed'
  readonly metric: string
  readonly labels: Readonly<Record<string, string | undefined>>
  readonly value: 0 | 1
}

/**
 * Returns a check that looks pods up in the Prometheus of --confirm and asks a sample of the open
 * ones directly; all of them once Prometheus was wrong. Without --confirm, returns the check itself.
 */
export function confirmedBy(
  { request, output, signal, client, warn }: Rollout,
  progress: Map<AwaitedPod, PodProgress>,
  check: PodCheck,
  { state, metric, labels, value }: Done,
): PodCheck {
  const { confirm: url, json, cluster } = request
  const open = () => [...progress].filter(([, now]) => now.state === 'waiting')
  if (url === undefined) {
    const { length } = open()
    const hint = `asking ${length} sidecars; --confirm prometheus=URL looks most of them up\n`
    if (length > MANY && !json) output.err.write(hint)
    return check
  }
  const query = queryFor(metric, [...Object.entries(labels), ...url.searchParams], value)
  const token = cluster.env['SQUALL_MONITOR_TOKEN']?.trim()
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  // Older samples may be of the same rules, applied earlier.
  const since = client.now() / 1000
  const done: PodProgress = { state, detail: 'by Prometheus' }
  let shown: ReadonlySet<string> = new Set()
  let sample: ReadonlySet<AwaitedPod> = new Set()
  let looking: Promise<void> | undefined
  let isTrusted = true
  const distrust = (why: string): void => {
    if (!isTrusted || signal.aborted) return
    isTrusted = false
    warn(`${why}; each sidecar is asked`)
    for (const [each, now] of progress) if (now === done) progress.set(each, WAITING)
  }
  const look = async (): Promise<void> => {
    const found = await askJson(url, '/api/v1/query', { query }, { headers, signal }).catch(
      (error: unknown) => {
        if (!(error instanceof MonitorError)) throw error
        distrust(`Prometheus cannot be read: ${error.message}`)
      },
    )
    shown = shownIn(found, since)
    sample = sampleOf(open().map(([each]) => each))
    setTimeout(() => (looking = undefined), LOOK_MS).unref()
  }
  return async (kube, each, options) => {
    if (isTrusted) await (looking ??= look())
    const { namespace, name } = each.pod
    const isShown = shown.has(keyOf(namespace, name, each.digest))
    if (isTrusted && !sample.has(each)) return isShown ? done : WAITING
    const asked = await check(kube, each, options)
    const isOpen = asked.state === 'waiting' && asked.silent !== true
    if (asked.state === 'rejected') distrust(`${name} rejected the rules`)
    else if (isShown && isOpen) distrust(`Prometheus is wrong about ${name}`)
    return asked
  }
}

/** Returns a query for the times of the last samples with a value. */
function queryFor(
  metric: string,
  labels: (readonly [string, string | undefined])[],
  value: number,
): string {
  const matchers = labels.flatMap(([name, text]) =>
    // JSON escapes as PromQL does.
    text === undefined ? [] : [`${name}=~${JSON.stringify(text)}`],
  )
  const series = `${metric}{${matchers.join(', ')}}`
  return `max by (namespace, pod, digest) (timestamp(${series}) and ${series} == ${value})`
}

function shownIn(found: unknown, since: number): ReadonlySet<string> {
  const rows = listOf(fieldsOf(fieldsOf(found)['data'])['result'])
  const recent = rows.filter(({ value }) => Array.isArray(value) && Number(value[1]) >= since)
  const labels = recent.map(({ metric }) => fieldsOf(metric))
  return new Set(labels.map(({ namespace, pod, digest }) => keyOf(namespace, pod, digest)))
}

function keyOf(...names: readonly unknown[]): string {
  return JSON.stringify(names)
}

/** Returns every nth item from a random one on: a sample of all workloads. */
function sampleOf<Item>(items: readonly Item[]): ReadonlySet<Item> {
  const step = Math.ceil(items.length / SAMPLED)
  const first = Math.floor(Math.random() * step)
  return new Set(items.filter((_, at) => at % step === first))
}
