import { setTimeout as sleep } from 'node:timers/promises'
import { SafeRegex } from '#base'
import type { LoadTarget } from '../../load/load-options.ts'
import { openEndpoint } from '../../load/clients/open-endpoint.ts'
import { every } from '../every.ts'
import type { EarlyEnd } from '../experiment-result.ts'
import type { Extra, ProcessMeasure } from '../gate.ts'
import { type Rejection, RejectedError } from '../rejection.ts'
import { MONITOR_LOST_MS } from './alert-watch.ts'
import { ask, askPrometheus, MonitorError } from '#protocol'
import type { WrittenHealth, WrittenQuery } from './condition-schema.ts'
import { processReader, type ServerProcesses } from './server-processes.ts'
import { readFile } from 'node:fs/promises'

/** Selects a measurement; the measure names its values in gates and results. */
export type SamplerSpec = { readonly measure: Extra } & (
  | { readonly kind: 'uptime' | 'cpu' | 'memory' | ProcessMeasure }
  | { readonly kind: 'health'; readonly health: WrittenHealth }
  | { readonly kind: 'promql'; readonly promql: WrittenQuery }
)

export interface SamplerAccess {
  readonly target: LoadTarget
  readonly version: string
  /** Headers for Prometheus. */
  readonly headers: Readonly<Record<string, string>>
  readonly lostMs?: number | undefined
  readonly processes: ServerProcesses
}

interface Sample {
  readonly at: number
  readonly value: number | null
}

type Read = (signal: AbortSignal) => Promise<number | null>

interface Sampler {
  readonly spec: SamplerSpec
  readonly read: Read
  samples: Sample[]
  problem: string
}

const PAUSE_MS = 500
const WINDOW_MS = 5_000
const PROBE_MS = 5_000
const MAX_SAMPLES = 20_000
const MAX_BODY = 64 * 1024

/** Measures what the calls do not show, at a bounded pace. */
export class Samplers {
  readonly #samplers: readonly Sampler[]
  readonly #closing = new AbortController()
  readonly #lostMs: number
  #running: Promise<unknown> | undefined

  constructor(specs: readonly SamplerSpec[], access: SamplerAccess) {
    this.#lostMs = access.lostMs ?? MONITOR_LOST_MS
    this.#samplers = specs.map((spec) => {
      return { spec, read: reader(spec, access), samples: [], problem: '' }
    })
  }

  /** Takes a first sample of each, and goes on. Throws a `RejectedError` when one fails. */
  async start(): Promise<void> {
    await Promise.all(this.#samplers.map((each) => this.#sample(each)))
    const rejections = this.#samplers.filter(({ samples }) => samples.length === 0).map(unreadable)
    if (rejections.length > 0) throw new RejectedError(...rejections)
    this.#running ??= Promise.all(this.#samplers.map((each) => this.#run(each)))
  }

  /**
   * Returns the values now, or over the time since a moment. A sampler that can no longer be read
   * has no value.
   */
  measured(since?: number): Readonly<Record<Extra, number | null>> {
    const now = performance.now()
    const entries = this.#samplers.map(({ spec, samples }) => {
      const last = samples.at(-1)
      if (last === undefined || now - last.at > this.#lostMs) return [spec.measure, null]
      const within = samples.filter(({ at }) => at >= (since ?? now - WINDOW_MS))
      const used = within.length === 0 ? [last] : within
      return [spec.measure, valueOf(spec, used, since === undefined)] as const
    })
    return Object.fromEntries(entries) as Readonly<Record<Extra, number | null>>
  }

  /** Returns the reason to end when a condition can no longer be checked. */
  lost(now: number): EarlyEnd | undefined {
    const lost = this.#samplers.find(({ samples }) => now - samples.at(-1)!.at > this.#lostMs)
    if (lost === undefined) return undefined
    return { code: 'MONITOR_LOST', why: `${lost.spec.measure} cannot be read: ${lost.problem}` }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #run(sampler: Sampler): Promise<void> {
    const { signal } = this.#closing
    // The first sample was taken just now.
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {})
    await every(PAUSE_MS, signal, () => this.#sample(sampler))
  }

  async #sample(sampler: Sampler): Promise<void> {
    const { signal } = this.#closing
    try {
      const value = await sampler.read(signal)
      if (signal.aborted) return
      sampler.samples.push({ at: performance.now(), value })
      if (sampler.samples.length > MAX_SAMPLES) {
        sampler.samples = sampler.samples.slice(-MAX_SAMPLES / 2)
      }
    } catch (error) {
      if (!(error instanceof MonitorError)) throw error
      sampler.problem = error.message
    }
  }
}

/** Returns the mean of shares; of others the last value. Over a phase, that of a query is the worst. */
function valueOf(spec: SamplerSpec, samples: readonly Sample[], isNow: boolean): number | null {
  const last = samples.at(-1)!.value
  const values = samples.map(({ value }) => value).filter((value) => value !== null)
  if (values.length === 0) return null
  if (spec.kind === 'processUptime' || spec.kind === 'restarts') return last
  if (spec.kind === 'health' && isNow) return last
  if (spec.kind === 'promql') {
    if (isNow || last === null) return last
    return spec.promql.max === undefined ? Math.min(...values) : Math.max(...values)
  }
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function unreadable({ spec, problem }: Sampler): Rejection {
  return {
    code: 'MONITOR_UNREACHABLE',
    wrong: `${spec.measure} cannot be read: ${problem}`,
    fix: FIXES[spec.kind] ?? 'run on Linux, or measure another host with promql',
  }
}

const OF_PROCESSES = 'use it with sidecar.kubernetes, or with squall stdio, which runs the server'

const FIXES: Readonly<Partial<Record<SamplerSpec['kind'], string>>> = {
  promql: 'check the url and the query, and --monitor-token-file where a token is required',
  processUptime: OF_PROCESSES,
  restarts: OF_PROCESSES,
}

function reader(spec: SamplerSpec, access: SamplerAccess): Read {
  switch (spec.kind) {
    case 'uptime':
      return async () => ((await probe(access)) ? 1 : 0)
    case 'health':
      return healthReader(spec.health)
    case 'promql':
      return (signal) => queryValue(spec.promql, access.headers, signal)
    case 'processUptime':
    case 'restarts':
      return processReader(spec.kind, access.processes)
    case 'memory':
      return memoryUsage
    case 'cpu':
    default: {
      const meter = new CpuMeter()
      return () => meter.read()
    }
  }
}

/** Opens and ends a session: returns true when `initialize` and `tools/list` succeed. */
async function probe({ target, version }: SamplerAccess): Promise<boolean> {
  const opened = openEndpoint(target, version).then(
    async (endpoint) => {
      await endpoint.close()
      return true
    },
    () => false,
  )
  return Promise.race([opened, sleep(PROBE_MS, false, { ref: false })])
}

function healthReader({ url, status, body }: WrittenHealth): Read {
  const regex = typeof body === 'object' ? new SafeRegex(body.regex) : undefined
  return async (signal) => {
    try {
      const found = await ask(new URL(url), { signal, most: MAX_BODY })
      const isRight =
        regex === undefined
          ? found.text.includes(typeof body === 'string' ? body : '')
          : regex.test(found.text.slice(0, 32_768))
      return found.status === status && isRight ? 1 : 0
    } catch (error) {
      if (!(error instanceof MonitorError)) throw error
      return 0
    }
  }
}

/** Returns the single value of a query; null when there is none. Throws a `MonitorError`. */
async function queryValue(
  { url, query }: WrittenQuery,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number | null> {
  const rows = await askPrometheus(new URL(url), query, { headers, signal })
  if (rows.length > 1)
    throw new MonitorError(`the query must return one series; got ${rows.length}`)
  const { value } = rows[0] ?? { value: Number.NaN }
  return Number.isNaN(value) ? null : value
}

interface CpuTimes {
  readonly idle: number
  readonly total: number
}

/** The time between the first two readings. */
const FIRST_MS = 100
/** The kernel counts in ticks of 10 ms. */
const MIN_TICKS = 5
const MAX_READINGS = 20

/** Measures the share of the CPU time of this host that is used. */
class CpuMeter {
  #before: CpuTimes | undefined

  /** Returns the share since the last reading, from 0 to 1. Throws a `MonitorError`. */
  async read(): Promise<number> {
    this.#before ??= await cpuTimes()
    for (let reading = 0; reading < MAX_READINGS; reading++) {
      const now = await cpuTimes()
      const total = now.total - this.#before.total
      if (total >= MIN_TICKS) {
        const idle = now.idle - this.#before.idle
        this.#before = now
        return Math.min(1, Math.max(0, 1 - idle / total))
      }
      await sleep(FIRST_MS)
    }
    throw new MonitorError('the counters of /proc/stat did not increase')
  }
}

/** Returns the share of the memory of this host that is not available. Throws a `MonitorError`. */
async function memoryUsage(): Promise<number> {
  const text = await readProc('/proc/meminfo')
  const read = (name: string): number =>
    Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(text)?.[1])
  const share = 1 - read('MemAvailable') / read('MemTotal')
  if (Number.isNaN(share)) throw new MonitorError('unexpected format of /proc/meminfo')
  return share
}

async function cpuTimes(): Promise<CpuTimes> {
  const [line = ''] = (await readProc('/proc/stat')).split('\n')
  // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user.
  const times = line.trim().split(/ +/).slice(1, 9).map(Number)
  const total = times.reduce((sum, time) => sum + time, 0)
  if (!line.startsWith('cpu ') || !(total > 0)) {
    throw new MonitorError('unexpected format of /proc/stat')
  }
  return { idle: times[3]! + (times[4] ?? 0), total }
}

async function readProc(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new MonitorError(`${path} cannot be read; this limit requires Linux`, { cause: error })
  }
}
