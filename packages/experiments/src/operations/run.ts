import { fieldsOf, interruption, plain, quoted } from '#base'
import type { RunRequest } from '../commands/experiment.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import { experimentSuite, noteLines, rejectedSuite } from '../experiment/experiment-report.ts'
import { RejectedError } from '../experiment/rejection.ts'
import { moreRejections } from '../experiment/run-experiment.ts'
import { PRODUCTION_NAMES, readYaml } from '#rules'
import { INTERRUPTED, invalidFile, print } from '#cli'
import { withJunit, writeJunit } from '../cli/junit.ts'
import { experimentProgress } from '../experiment/experiment-progress.ts'
import type { KeptPlan, ReadPlan } from '../experiment/read-plan.ts'
import type { Policy } from '../policy/policy-schema.ts'
import { complaints, complaintsOf, printRejected, readAsked, rejectedLines } from './read-plans.ts'
import type { KubeClient } from '#kubernetes'
import type { Plan, PodsSpec } from '../experiment/plan.ts'
import { runInCluster } from './in-cluster/run-in-cluster.ts'
import { type Placed, runHere, storeResult, tooManyRuns, withSidecars } from './run-here.ts'

const FAILED = 1

/** Runs a plan; returns the exit code. */
export function runPlan(request: RunRequest): Promise<number> {
  return withJunit(request.junit, 'squall experiment', () => runToReport(request))
}

async function runToReport(request: RunRequest): Promise<number> {
  const { read, kept, policy, again } = await readAsked(request)
  if (!read.ok) {
    process.stderr.write(complaints(kept.file, read))
    throw invalidFile(`${quoted(kept.file)} is no plan`, 'fix the errors above')
  }
  const { plan } = read
  const { sidecar: spec } = plan
  if (request.inCluster !== undefined && spec.kind !== 'pods') {
    const wrong = `--in-cluster: ${quoted(kept.file)} is for a sidecar of this machine`
    throw invalidFile(wrong, 'name pods with sidecar.kubernetes')
  }
  const tooMany = read.rejections.length > 0 ? [] : await tooManyRuns(request, plan, policy)
  if (tooMany.length > 0) return rejected(tooMany, request)
  return withSidecars(
    request,
    plan,
    (placed, client) => {
      const { inCluster } = request
      if (inCluster !== undefined && spec.kind === 'pods' && read.rejections.length === 0) {
        const own = { ...plan, sidecar: spec }
        return runAsJob(request, inCluster, client!, own, { ...kept, again })
      }
      return runWith(request, read, { ...kept, again }, placed)
    },
    (text) => void (request.json || process.stderr.write(`warning: ${plain(text)}\n`)),
  )
}

async function runWith(
  request: RunRequest,
  { plan, rejections }: Extract<ReadPlan, { readonly ok: true }>,
  { again, ...kept }: KeptPlan & { readonly again: string | undefined },
  placed: Placed,
): Promise<number> {
  if (rejections.length > 0) {
    // Nothing asks a sidecar in production.
    const isProduction = rejections.some(({ code }) => code === 'PRODUCTION')
    const more = isProduction ? [] : await moreRejections(placed)
    const lines = `${complaintsOf(kept.file, rejections)}${rejectedLines(more)}`
    return rejected([...rejections, ...more], request, lines)
  }
  const onEvent =
    request.json && !request.progress ? () => {} : experimentProgress(process.stderr, process.env)
  return toReport(request, kept, plan, (stop) => {
    return runHere(request, { ...placed, stop, onEvent, ...(again !== undefined && { again }) })
  })
}

/** Runs until a signal, and reports the result unless there is only an exit code, which it returns. */
async function toReport(
  request: RunRequest,
  kept: KeptPlan,
  { policy }: Plan,
  run: (stop: AbortSignal) => Promise<ExperimentResult | number>,
): Promise<number> {
  // The first signal rolls back; after the second, the rules expire by themselves.
  const interrupt = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
  const { signal } = interrupt
  try {
    const result = await run(signal)
    if (typeof result === 'number') return result
    const code = await reported(request, result, kept, policy)
    return signal.aborted ? INTERRUPTED : code
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    if (signal.aborted && request.inCluster === undefined) return INTERRUPTED
    return await rejected(error.rejections, request)
  } finally {
    interrupt.forget()
  }
}

/** Runs the plan as a Job; its reports and its history are those of this machine. */
async function runAsJob(
  request: RunRequest,
  { image, serviceAccount }: NonNullable<RunRequest['inCluster']>,
  client: KubeClient,
  plan: Plan & { readonly sidecar: PodsSpec },
  { again, ...kept }: KeptPlan & { readonly again: string | undefined },
): Promise<number> {
  const { json, progress, prefix, cluster, production } = request
  const { patterns } = production
  const text = again === undefined ? kept.text : withSeed(kept.text, plan.seed)
  const args = [
    `--annotation-prefix=${prefix}`,
    `--environment-label=${cluster.environmentLabel}`,
    ...(patterns === PRODUCTION_NAMES ? [] : [`--production-names=${patterns.join(',')}`]),
  ]
  const onLine = (line: string): void => {
    if (!json || progress) process.stderr.write(`${plain(line)}\n`)
  }
  return toReport(request, kept, plan, async (stop) => {
    const options = { image, serviceAccount, prefix, args, stop, onLine }
    const outcome = await runInCluster(client, plan.sidecar, { ...kept, text }, options)
    if (outcome === undefined) return INTERRUPTED
    if (outcome.kind === 'rejected') return rejected(outcome.rejections, request)
    return { ...outcome.result, ...(again && { again, planDigest: plan.digest }) }
  })
}

/** Returns the text of a plan with the seed of the run that is repeated. */
function withSeed(text: string, seed: number): string {
  return JSON.stringify({ seed, ...fieldsOf(readYaml(text).value) })
}

/** Writes the reports of a result; returns the exit code. */
async function reported(
  { experiments, json, junit, policy: file }: RunRequest,
  result: ExperimentResult,
  kept: KeptPlan,
  policy: Policy | undefined,
): Promise<number> {
  const limits = policy === undefined || file === undefined ? undefined : { policy, file }
  const directory = await storeResult(experiments, result, kept, { policy: limits })
  await writeJunit(junit, experimentSuite(result))
  await print(json ? `${JSON.stringify(result)}\n` : resultText(result, directory))
  return result.verdict === 'passed' ? 0 : FAILED
}

async function rejected(
  rejections: RejectedError['rejections'],
  { json, junit }: RunRequest,
  text?: string,
): Promise<number> {
  await writeJunit(junit, rejectedSuite(rejections))
  await printRejected(rejections, json, text)
  return FAILED
}

function resultText(result: ExperimentResult, directory: string): string {
  return `${noteLines(result).map(plain).join('\n')}\nreport: ${plain(directory)}/report.html\n`
}
