import type { RequestListener } from 'node:http'
import type { RunOptions } from '../../../src/sidecar/run-options.ts'
import type { KubeClient } from '../../../packages/kubernetes/src/kube/kube-client.ts'
import type { WebhookOptions } from '../../../packages/kubernetes/src/webhook/start-webhook.ts'
import type { Running } from '../../../src/sidecar/assemble.ts'
import type { Api, ApiSetup } from '../../admin/api-setup.ts'
import type { StagedWebhook } from '../cluster/webhook.ts'
import type {
  ExperimentSetup,
  ExperimentStage,
} from '../../../packages/experiments/test/experiment/stage.ts'
import { ENGINE_UNDER_TEST } from '../wire/engine.ts'
import { eventually } from '../eventually.ts'
import { metricOf } from '../wire/metric.ts'
import { responding, type HttpApp } from '../wire/http-app.ts'
import { call, callMessage, type Called } from '../wire/http-call.ts'
import { mountRules, type MountedRules } from '../../live/rules-directory.ts'
import type { LogLine } from './program.ts'
import { startUpstream } from '../wire/upstream.ts'

/** Squall in this process, put together from flags as the program does it. */
export interface Squall {
  readonly running: Running
  /** Port of the first listener. */
  readonly port: number
  /** Where the admin port is. */
  readonly admin: string
  readonly logs: readonly LogLine[]
  /** The sum of the series of a metric that have these labels, as the admin port reports it. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>
  /** Resolves when the metric has reached a value. */
  reaches(name: string, labels: Readonly<Record<string, string>>, value: number): Promise<void>
  /** Resolves with the first log line that says this. */
  logged(message: string, after?: number): Promise<LogLine>
  readiness(): Promise<{ status: number; ready: boolean; reason: string }>
  close(): Promise<void>
}

/** Squall with mounted rules in front of an upstream. */
export interface RuledSquall {
  readonly app: HttpApp
  readonly mounted: MountedRules
  readonly squall: Squall
  /** Calls a tool. */
  readonly ask: (tool?: string, headers?: Readonly<Record<string, string>>) => Promise<Called>
  /** The text of the result of a call, or its status where that is not 200. */
  readonly text: (tool?: string, headers?: Readonly<Record<string, string>>) => Promise<string>
  close(): Promise<void>
}

/** Squall's flags and environment. */
interface Start {
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Leaves the seed to the start. Otherwise tests know which calls are sampled. */
  readonly drawsSeed?: boolean
}

/** The text of a mounted rules file, and the upstream, which responds `fine` by default. */
interface RuledStart extends Start {
  readonly rules: string | undefined
  readonly upstream?: RequestListener | undefined
  /** The port of an upstream that is started again on it. */
  readonly upstreamPort?: number | undefined
}

/** Squall under a load that the system tests know. */
const SCENES = {
  /** Rules, an upstream with real errors, and clients that call while a person looks. */
  busy: async () => (await import('../../system/busy-squall.ts')).busySquall(),
  /** Two programs under a load that is known call by call, to be scraped. */
  scraped: async () => (await import('../../system/prometheus-stage.ts')).scrapedSidecars(),
  /** Two programs and an upstream that breaks, for pictures of the dashboards. */
  pictured: async () => (await import('../../system/pictures/story.ts')).pictureStory(),
}

type Scenes = typeof SCENES

/** The webhook alone, and the client by which it asks the cluster. */
interface WebhookPart {
  readonly webhook: Partial<WebhookOptions>
  readonly client?: KubeClient
  readonly stop?: AbortSignal
}

/** A part of Squall, or Squall and a server for experiments. */
type Part =
  | WebhookPart
  | { readonly scene: keyof Scenes }
  | { readonly admin: ApiSetup }
  | { readonly experiment: ExperimentSetup }

/**
 * Starts Squall from flags as the program does, on free ports of loopback where the flags name
 * none; with `rules`, also an upstream and a mounted rules file; with `admin` or `webhook`, that
 * part alone.
 */
export function startSquall(part: { readonly admin: ApiSetup }): Promise<Api>
export function startSquall(part: WebhookPart): Promise<StagedWebhook>
export function startSquall(part: {
  readonly experiment: ExperimentSetup
}): Promise<ExperimentStage>
export function startSquall<K extends keyof Scenes>(start: {
  readonly scene: K
}): ReturnType<Scenes[K]>
export function startSquall(...flags: readonly string[]): Promise<Squall>
export function startSquall(start: RuledStart): Promise<RuledSquall>
export function startSquall(start: Start): Promise<Squall>
export async function startSquall(
  ...args: readonly string[] | readonly [Start | RuledStart | Part]
): Promise<unknown> {
  const [first] = args
  if (typeof first !== 'object') return start(args as readonly string[])
  if ('scene' in first) return SCENES[first.scene]()
  if ('admin' in first) return (await import('../../admin/api-setup.ts')).adminApi(first.admin)
  if ('webhook' in first) {
    const { stagedWebhook } = await import('../cluster/webhook.ts')
    return stagedWebhook(first.webhook, first.client, first.stop)
  }
  if ('experiment' in first) {
    const stage = await import('../../../packages/experiments/test/experiment/stage.ts')
    return stage.experimentStage(first.experiment, start)
  }
  return 'rules' in first ? startRuled(first) : start(first.flags, first.env, first.drawsSeed)
}

async function startRuled({
  rules,
  flags = [],
  env,
  drawsSeed,
  upstream = responding('fine'),
  upstreamPort = 0,
}: RuledStart): Promise<RuledSquall> {
  const app = await startUpstream(upstream, { host: '127.0.0.1', port: upstreamPort })
  const mounted = await mountRules(rules)
  const squall = await start(
    ['--upstream', app.url, '--rules', mounted.file, ...flags],
    env,
    drawsSeed,
  )
  let id = 0
  const ask: RuledSquall['ask'] = (tool = 'probe', headers = {}) =>
    call({ port: squall.port, host: '127.0.0.1', headers }, callMessage(++id, tool))
  return {
    app,
    mounted,
    squall,
    ask,
    text: async (tool, headers) => {
      const { status, text } = await ask(tool, headers)
      if (status !== 200) return String(status)
      return (JSON.parse(text) as { result: { content: [{ text: string }] } }).result.content[0]
        .text
    },
    close: async () => {
      await squall.close()
      await mounted.remove()
      await app.close()
    },
  }
}

async function start(
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  drawsSeed = false,
): Promise<Squall> {
  const listen = flags.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']
  const seed = drawsSeed || flags.includes('--seed') ? [] : ['--seed', '0']
  const engine = flags.includes('--engine') ? [] : ['--engine', ENGINE_UNDER_TEST]
  // The metrics of each tool, which tests read.
  const detail = flags.includes('--metrics-detail') ? [] : ['--metrics-detail', 'full']
  const own = [
    ...listen,
    ...engine,
    ...seed,
    ...detail,
    '--admin',
    '127.0.0.1:0',
    '--log-level',
    'debug',
  ]
  const args = ['run', ...own, ...flags]
  const { assemble } = await import('../../../src/sidecar/assemble.ts')
  const { createLogger } = await import('../../../src/telemetry/log.ts')
  const { asked } = await import('./command-line.ts')
  const logs: LogLine[] = []
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    destination: { write: (line) => void logs.push(JSON.parse(line) as LogLine) },
  })
  const running = await assemble(asked(args, env) as RunOptions, logger)
  const admin = `http://${running.admin!.text}`
  const metric: Squall['metric'] = async (name, labels) =>
    metricOf(await (await fetch(`${admin}/metrics`)).text(), name, labels)
  return {
    running,
    port: running.listeners[0]!.port,
    admin,
    logs,
    metric,
    reaches: async (name, labels, value) =>
      eventually(async () => {
        const now = await metric(name, labels)
        return now === value
          ? undefined
          : `${name} ${JSON.stringify(labels)} is ${now}, not ${value}`
      }),
    logged: async (message, after = 0) => {
      const find = (): LogLine | undefined => logs.slice(after).find(({ msg }) => msg === message)
      await eventually(() => (find() === undefined ? `no line "${message}"` : undefined))
      return find()!
    },
    readiness: async () => {
      const response = await fetch(`${admin}/readyz`)
      const told = (await response.json()) as { ready: boolean; reason: string }
      return { status: response.status, ...told }
    },
    close: () => running.close(),
  }
}
