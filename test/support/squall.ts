import type { RunOptions } from '../../src/cli/commands/run.ts'
import { assemble, type Running } from '../../src/cli/run/assemble.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { asked } from './asked.ts'
import { ENGINE_UNDER_TEST } from './engine.ts'
import { eventually } from './eventually.ts'
import { metricOf } from './metric.ts'
import type { LogLine } from './program.ts'

/** Squall in this process, put together from flags as the program does it. */
export interface Squall {
  readonly running: Running
  /** Port of the first listener. */
  readonly port: number
  /** Where the admin port is. */
  readonly admin: string
  readonly logs: readonly LogLine[]
  /** The sum of the series of a metric that have these labels, as the admin port tells it. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>
  /** Resolves when the metric has reached a value. */
  reaches(name: string, labels: Readonly<Record<string, string>>, value: number): Promise<void>
  /** Resolves with the first log line that says this. */
  logged(message: string, after?: number): Promise<LogLine>
  readiness(): Promise<{ status: number; ready: boolean; reason: string }>
  close(): Promise<void>
}

/** Starts Squall with the flags given, on free ports of loopback where they name none. */
export function startSquall(...flags: readonly string[]): Promise<Squall> {
  return startSquallIn({}, ...flags)
}

/** Starts Squall in an environment of its own. */
export async function startSquallIn(
  env: Readonly<Record<string, string>>,
  ...flags: readonly string[]
): Promise<Squall> {
  const listen = flags.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']
  const engine = flags.includes('--engine') ? [] : ['--engine', ENGINE_UNDER_TEST]
  const own = [...listen, ...engine, '--admin', '127.0.0.1:0', '--log-level', 'debug']
  const args = ['run', ...own, ...flags]
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
