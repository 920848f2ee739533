import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { eventually } from '../eventually.ts'
import { PATIENCE } from '../../system/patience.ts'
import { MissingToolError } from '../../system/tools.ts'

/** One series in the response to a query: its labels, and its values over time. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly values: readonly number[]
  /** When each value was, in seconds since the epoch. */
  readonly times: readonly number[]
}

/** A scrape target: its address and labels. */
export interface ScrapeTarget {
  readonly address: string
  readonly labels: Readonly<Record<string, string>>
  /** The scrape job that it belongs to; `squall` by default. */
  readonly job?: string
}

/** A rule as Prometheus has loaded it. */
export interface LoadedRule {
  readonly name: string
  readonly health: string
  readonly lastError?: string
  readonly lastEvaluation: string
}

/** A trace that a series points at, as Prometheus has kept it. */
export interface StoredExemplar {
  readonly series: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Seconds since the epoch. */
  readonly at: number
}

/** A real Prometheus. */
export interface Prometheus {
  readonly url: string
  /** The value of a query at a moment, in seconds since the epoch; now by default. */
  instant(query: string, at?: number): Promise<readonly Series[]>
  /** The values of a query each second of a time, or as often as told, its end included. */
  range(query: string, from: number, to: number, step?: number): Promise<readonly Series[]>
  rules(): Promise<readonly LoadedRule[]>
  /** The exemplars of the series that a query names, of the last minute. */
  exemplars(query: string): Promise<readonly StoredExemplar[]>
  close(): Promise<void>
}

/** Waits until the first value of a query is this. */
export async function queryBecomes(
  prometheus: Prometheus,
  query: string,
  value: number,
): Promise<void> {
  await eventually(async () => {
    const now = (await prometheus.instant(query))[0]?.values[0]
    return now === value ? undefined : `${query} is ${now}, not ${value}`
  }, PATIENCE)
}

/**
 * Returns a moment at which all targets are known: a scrape that was late hides all series of its
 * target until the next.
 */
export async function scrapedMoment(prometheus: Prometheus, targets: number): Promise<number> {
  await queryBecomes(prometheus, 'count(up == 1)', targets)
  return Date.now() / 1000
}

/**
 * Waits for an evaluation that began after now, and tells for which moment it was: asked for that
 * moment, a rule and all above it in its group say what they said then. `lastEvaluation` tells
 * when, and not for which.
 */
export async function evaluatedAnew(prometheus: Prometheus, record: string): Promise<number> {
  const now = Date.now() / 1000
  let moment = 0
  await eventually(async () => {
    const [series] = await prometheus.instant(`max(timestamp(${record}))`)
    moment = series?.values[0] ?? 0
    return moment > now ? undefined : `${record} has not been evaluated`
  }, PATIENCE)
  return moment
}

interface ClientResponse {
  readonly status: string
  readonly error?: string
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>
      readonly value?: readonly [number, string]
      readonly values?: readonly (readonly [number, string])[]
    }[]
    readonly groups: readonly { readonly rules: readonly LoadedRule[] }[]
  }
}

interface ExemplarResponse {
  readonly data: readonly {
    readonly seriesLabels: Readonly<Record<string, string>>
    readonly exemplars: readonly {
      readonly labels: Readonly<Record<string, string>>
      readonly value: string
      readonly timestamp: number
    }[]
  }[]
}

/** Runs promtool to its end, or fails with what it says. */
export async function promtool(args: readonly string[], input = ''): Promise<string> {
  const child = execFile('promtool', [...args])
  let said = ''
  child.stdout?.on('data', (text: string) => (said += text))
  child.stderr?.on('data', (text: string) => (said += text))
  child.stdin?.on('error', () => undefined).end(input)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', () => reject(missing('promtool')))
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`promtool ${args.join(' ')} ended with ${code}:\n${said}`)
  return said
}

/**
 * Starts Prometheus on loopback, with its data in a directory that goes when it ends. A
 * configuration file of its own takes the place of targets and rules. Alerts go to
 * Alertmanager at an address.
 */
export async function startPrometheus(
  targets: readonly ScrapeTarget[],
  ruleFiles: readonly string[],
  every = '1s',
  file?: string,
  alertmanager?: string,
): Promise<Prometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-prometheus-'))
  const jobs = [...new Set(targets.map(({ job = 'squall' }) => job))]
  const scrapes = jobs.map((name) => ({
    job_name: name,
    static_configs: targets
      .filter(({ job = 'squall' }) => job === name)
      .map(({ address, labels }) => ({ targets: [address], labels })),
  }))
  const written = join(directory, 'prometheus.yml')
  await writeFile(
    written,
    stringify({
      global: { scrape_interval: every, evaluation_interval: every },
      rule_files: ruleFiles,
      scrape_configs: scrapes,
      ...(alertmanager !== undefined && {
        alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
      }),
    }),
  )
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file ?? written}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
      '--enable-feature=exemplar-storage',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const address = await addressOf(child).catch(async (error: unknown) => {
    await rm(directory, { recursive: true, force: true })
    throw error
  })
  const ask = async (
    path: string,
    params: Readonly<Record<string, string>> = {},
  ): Promise<ClientResponse> => {
    const response = await fetch(
      `http://${address}/api/v1/${path}?${new URLSearchParams(params).toString()}`,
    )
    const answer = (await response.json()) as ClientResponse
    if (answer.status !== 'success') throw new Error(`${params['query'] ?? path}: ${answer.error}`)
    return answer
  }
  const series = ({ data }: ClientResponse): readonly Series[] =>
    data.result.map(({ metric, value, values = value === undefined ? [] : [value] }) => ({
      metric,
      values: values.map(([, number]) => Number(number.replace('Inf', 'Infinity'))),
      times: values.map(([time]) => time),
    }))
  return {
    url: `http://${address}`,
    instant: async (query, at) =>
      series(await ask('query', { query, ...(at === undefined ? {} : { time: String(at) }) })),
    range: async (query, from, to, step = 1) =>
      series(
        await ask('query_range', {
          query,
          start: String(to - Math.ceil((to - from) / step) * step),
          end: String(to),
          step: String(step),
        }),
      ),
    rules: async () => (await ask('rules')).data.groups.flatMap(({ rules }) => rules),
    exemplars: async (query) => {
      const now = Date.now() / 1000
      const asked = { query, start: String(now - 60), end: String(now + 1) }
      const { data } = (await ask('query_exemplars', asked)) as unknown as ExemplarResponse
      return data.flatMap(({ seriesLabels, exemplars }) =>
        exemplars.map(({ labels, value, timestamp }) => ({
          series: seriesLabels,
          labels,
          value: Number(value),
          at: timestamp,
        })),
      )
    },
    close: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Where it listens, which it says itself; and it answers only after it has read its rules. */
async function addressOf(child: ReturnType<typeof spawn>): Promise<string> {
  let said = ''
  const address = await new Promise<string>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`Prometheus did not start:\n${said}`)), PATIENCE)
    let found: string | undefined
    child.once('error', () => reject(missing('prometheus')))
    child.once('exit', () => reject(new Error(`Prometheus ended:\n${said}`)))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-100_000)
      found ??= /Listening on"? address=([\d.:]+)/.exec(said)?.[1]
      if (found === undefined || !said.includes('ready to receive web requests')) return
      clearTimeout(late)
      resolve(found)
    })
  }).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  return address
}

function missing(program: string): MissingToolError {
  return new MissingToolError(`The program ${program} (of Debian's package prometheus)`)
}
