import { type RunningLoad, runLoad } from '../load/run-load.ts'
import { BindError } from '#sidecar'
import { metricsPage, serveMetrics } from '../load/results/metrics-server.ts'
import { type Consent, ToolsNotNamedError } from '../load/choose-tools.ts'
import { type LoadOptions, shardOf } from '../load/load-options.ts'
import type { LoadResult } from '../load/results/result.ts'
import { INTERRUPTED, InterruptedError, missing, print, UsageError, writeText } from '#cli'
import { foreign, onStopSignals, readVersion } from '#base'
import { withJunit, writeAll, writeJunit } from './junit.ts'
import { loadInputs } from './load-inputs.ts'
import { type Progress, showProgress } from '../load/load-progress.ts'
import type { LoadRequest } from '../commands/load.ts'
import { loadSuite } from '../report/junit.ts'
import { loadTable } from '../report/load-table.ts'
import { createInterface } from 'node:readline'

/**
 * Listens to the signals that end a load, Ctrl-C and SIGTERM, and calls `onStop` at the first; the
 * third ends the program. The first signal aborts `stop`, after which no further tasks begin; the
 * second aborts `cut`, which cuts in-flight calls, as does the first where tasks no longer begin.
 * Before the load runs, after which there is a result to keep, the first signal rejects `ended`.
 */
function loadSignals(running: () => RunningLoad | undefined, onStop: () => void) {
  const stop = new AbortController()
  const cut = new AbortController()
  let end: (error: Error) => void = () => {}
  const ended = new Promise<never>((_, reject) => (end = reject))
  ended.catch(() => {})
  const forget = onStopSignals(['SIGINT', 'SIGTERM'], () => {
    const run = running()
    const isSecond = stop.signal.aborted && run === undefined
    if (isSecond || cut.signal.aborted) process.exit(INTERRUPTED)
    if (run === undefined) end(new InterruptedError('interrupted before the load began'))
    else if (run.waitsMs() === undefined) onStop()
    else cut.abort()
    stop.abort()
  })
  return { signals: { stop: stop.signal, cut: cut.signal }, ended, forget }
}

const GATE_FAILED = 1

/** Runs a load with its progress, and writes its results; returns the exit code. */
export function loadCommand(request: LoadRequest): Promise<number> {
  return withJunit(request.junit, 'squall load', () => loadToResult(request))
}

async function loadToResult(request: LoadRequest): Promise<number> {
  const options = await loadInputs(request, readVersion())
  // Before the load: a missing module must not end the load without a report.
  const writeReport = request.report === undefined ? undefined : await reportWriter()
  const note = (text: string): void => {
    if (!request.json) process.stderr.write(text)
  }
  let progress: Progress | undefined
  let running: RunningLoad | undefined
  const onStop = (): void => {
    const under = running?.recorder.inFlight.total ?? 0
    const limit = (request.pace.gracefulStopMs ?? 0) / 1000
    if (under > 0) note(`\nwaiting up to ${limit}s for ${under} calls; Ctrl-C aborts them\n`)
  }
  const interrupt = loadSignals(() => running, onStop)
  const page = (): string => (running === undefined ? '' : metricsPage(running.recorder))
  const metrics =
    request.metrics &&
    (await serveMetrics(request.metrics, page, request.metricsHosts).catch(cannotListen))
  if (metrics !== undefined) note(`metrics: http://${metrics.address}/metrics\n`)
  try {
    const loaded = runLoad(options, {
      ...interrupt.signals,
      ...consentOf(request.yes),
      recordBaseline: request.recordBaseline !== undefined,
      verdictWait: (limitMs) => {
        progress?.stop()
        const most = Math.ceil(limitMs / 1000)
        note(`waiting up to ${most}s for agent verdicts; Ctrl-C stops waiting\n`)
      },
      begun: (run) => {
        running = run
        if (request.json) return
        const goal = { ...goalOf(options), waitsMs: run.waitsMs }
        progress = showProgress(process.stderr, run.recorder, goal, process.env)
      },
    })
    const ran = await Promise.race([loaded, interrupt.ended]).finally(() => progress?.stop())
    await writeResult(request, ran, writeReport)
    if (!ran.result.run.complete) return INTERRUPTED
    return ran.result.slo.every(({ ok }) => ok) ? 0 : GATE_FAILED
  } catch (error) {
    throw error instanceof ToolsNotNamedError ? unnamed(error) : error
  } finally {
    interrupt.forget()
    await metrics?.close()
  }
}

function unnamed({ wrong, names, mayConsent }: ToolsNotNamedError): UsageError {
  const fix = `pass the tools to call: --tools '${names}'`
  return missing(wrong, mayConsent ? `${fix}, or add --yes` : fix)
}

async function writeResult(
  request: LoadRequest,
  { result, baseline }: Awaited<ReturnType<typeof runLoad>>,
  writeReport: Awaited<ReturnType<typeof reportWriter>> | undefined,
): Promise<void> {
  const { recordBaseline, out, report, junit } = request
  const json = `${JSON.stringify(result)}\n`
  const file = async (path: string | undefined, flag: string, text: string): Promise<void> =>
    path === undefined ? undefined : writeText(path, flag, text)
  await writeAll(
    () => file(recordBaseline, '--record-baseline', `${JSON.stringify(baseline)}\n`),
    () => file(out, '--out', json),
    async () => void (report !== undefined && (await writeReport?.(report, result))),
    () => writeJunit(junit, loadSuite(result)),
    () => print(request.json ? json : loadTable(result, process.stdout)),
  )
}

function cannotListen(error: unknown): never {
  if (!(error instanceof BindError)) throw error
  throw new UsageError('CANNOT_LISTEN', error.problem, error.remedy)
}

function goalOf({ pace, shard, work }: LoadOptions) {
  const { tasks, durationMs } = shardOf(pace, shard)
  return { calls: tasks === undefined ? undefined : tasks * work.fanOut, durationMs }
}

/** Loads the module that writes reports. */
async function reportWriter() {
  const { writeReport } = await import('../report/write-report.ts')
  return (path: string, result: LoadResult) =>
    writeText(path, '--report', writeReport([{ title: result.run.server, result }]))
}

/** Returns the consent to call tools without hints: given by --yes, or asked for on a terminal. */
function consentOf(yes: boolean): { readonly consent?: Consent } {
  if (yes) return { consent: () => true }
  return process.stdin.isTTY && process.stderr.isTTY ? { consent: ask } : {}
}

function ask(tools: readonly string[]): Promise<boolean> {
  const list = tools.map((name) => `  ${foreign(name, 100)}\n`).join('')
  process.stderr.write(`These tools do not declare whether they are read-only:\n${list}`)
  // Without `terminal`, Ctrl-C stays a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  return new Promise((resolve) => {
    lines.question('Also call these tools? [y/N] ', (response) => {
      resolve(/^y(es)?$/i.test(response.trim()))
      lines.close()
    })
    lines.on('close', () => resolve(false))
  })
}
