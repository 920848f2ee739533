import { fieldsOf, interruption, plain, quoted } from '#base'
import type { RunRequest } from '../commands/experiment.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import { experimentSuite, noteLines, rejectedSuite } from '../experiment/experiment-report.ts'
import { RejectedError } from '../experiment/rejection.ts'
import { moreRejections } from '../experiment/run-experiment.ts'
import { type Policy, PRODUCTION_NAMES, readYaml } from '#rules'
import { INTERRUPTED, InterruptedError, invalidFile, print } from '#cli'
import { withJunit, writeAll, writeJunit } from '../cli/junit.ts'
import { experimentProgress } from '../experiment/experiment-progress.ts'
import type { SavedPlan } from '../experiment/read-plan.ts'
import { complaintsOf, printRejected, readAsked, rejectedLines, validPlan } from './read-plans.ts'
import type { Plan } from '../experiment/plan.ts'
import { runInCluster } from './in-cluster/run-in-cluster.ts'
import { runHere, storeResult, tooManyRuns, withSidecars } from './run-here.ts'

const FAILED = 1

/** Runs a plan; returns the exit code. */
export function runPlan(request: RunRequest): Promise<number> {
  return withJunit(request.junit, 'squall experiment', () => runToReport(request))
}

async function runToReport(request: RunRequest): Promise<number> {
  const { inCluster, json } = request
  const { read, kept, again } = await readAsked(request)
  const { plan, rejections } = validPlan(kept.file, read)
  const { sidecar: spec } = plan
  if (inCluster !== undefined && spec.kind !== 'pods') {
    const wrong = `--in-cluster: ${quoted(kept.file)} is for a sidecar of this machine`
    throw invalidFile(wrong, 'name pods with sidecar.kubernetes')
  }
  const tooMany = rejections.length > 0 ? [] : await tooManyRuns(request, plan)
  if (tooMany.length > 0) return rejected(tooMany, request)
  const shows = !json || request.progress
  const repeated = again === undefined ? {} : { again }
  return withSidecars(
    request,
    plan,
    async (placed, client) => {
      if (rejections.length > 0) {
        // Nothing asks a sidecar in production.
        const isProduction = rejections.some(({ code }) => code === 'PRODUCTION')
        const more = isProduction ? [] : await moreRejections(placed)
        const lines = `${complaintsOf(kept.file, rejections)}${rejectedLines(more)}`
        return rejected([...rejections, ...more], request, lines)
      }
      return toReport(request, kept, plan, async (stop) => {
        if (inCluster === undefined || spec.kind !== 'pods') {
          const onEvent = shows ? experimentProgress(process.stderr, process.env) : () => {}
          return runHere(request, { ...placed, stop, onEvent, ...repeated })
        }
        const text = again === undefined ? kept.text : withSeed(kept.text, plan.seed)
        const onLine = (line: string) => void (shows && process.stderr.write(`${plain(line)}\n`))
        const options = { ...inCluster, ...jobFlags(request), stop, onLine }
        const result = await runInCluster(client!, spec, { ...kept, text }, options)
        return result && { ...result, ...(again && { again, planDigest: plan.digest }) }
      })
    },
    (text) => void (json || process.stderr.write(`warning: ${plain(text)}\n`)),
  )
}

/** Runs until a signal, and reports the result unless it was stopped without one. */
async function toReport(
  request: RunRequest,
  kept: SavedPlan,
  { policy }: Plan,
  run: (stop: AbortSignal) => Promise<ExperimentResult | undefined>,
): Promise<number> {
  // The first signal rolls back; after the second, the rules expire by themselves.
  const interrupt = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
  const { signal } = interrupt
  try {
    const result = await run(signal)
    if (result === undefined) throw stopped()
    const code = await reported(request, result, kept, policy)
    return signal.aborted ? INTERRUPTED : code
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    if (signal.aborted && request.inCluster === undefined) throw stopped()
    return await rejected(error.rejections, request)
  } finally {
    interrupt.forget()
  }
}

function stopped(): InterruptedError {
  return new InterruptedError('interrupted before the experiment had a result')
}

/** Returns the settings that a Job takes from this command; its reports are those of this machine. */
function jobFlags({ prefix, cluster, production: { patterns } }: RunRequest) {
  const args = [
    `--annotation-prefix=${prefix}`,
    `--environment-label=${cluster.environmentLabel}`,
    ...(patterns === PRODUCTION_NAMES ? [] : [`--production-names=${patterns.join(',')}`]),
  ]
  const budgetEnv = ['SQUALL_SYSTEM_NAMESPACE', 'SQUALL_REQUIRE_BUDGET'].flatMap((name) => {
    const value = cluster.env[name]
    return value === undefined ? [] : [{ name, value }]
  })
  return { prefix, args, budgetEnv }
}

/** Returns the text of a plan with the seed of the run that is repeated. */
function withSeed(text: string, seed: number): string {
  return JSON.stringify({ seed, ...fieldsOf(readYaml(text).value) })
}

/** Writes the reports of a result; returns the exit code. */
async function reported(
  { experiments, json, junit, policy: file }: RunRequest,
  result: ExperimentResult,
  kept: SavedPlan,
  policy: Policy | undefined,
): Promise<number> {
  const limits = policy === undefined || file === undefined ? undefined : { policy, file }
  let directory: string | undefined
  await writeAll(
    async () => void (directory = await storeResult(experiments, result, kept, { policy: limits })),
    () => writeJunit(junit, experimentSuite(result)),
    () => print(json ? `${JSON.stringify(result)}\n` : resultText(result, directory)),
  )
  return result.verdict === 'passed' ? 0 : FAILED
}

async function rejected(
  rejections: RejectedError['rejections'],
  { json, junit }: RunRequest,
  text?: string,
): Promise<number> {
  await writeAll(
    () => writeJunit(junit, rejectedSuite(rejections)),
    () => printRejected(rejections, json, text),
  )
  return FAILED
}

function resultText(result: ExperimentResult, directory: string | undefined): string {
  const report = directory === undefined ? '' : `report: ${plain(directory)}/report.html\n`
  return `${noteLines(result).map(plain).join('\n')}\n${report}`
}
