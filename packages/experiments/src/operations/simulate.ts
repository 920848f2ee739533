import { CLEAR_LINE, interruption, plainText, quoted, redraw, redraws, shownUrl } from '#base'
import type { EXPERIMENT_SIMULATE } from '../commands/simulate.ts'
import {
  parsePastResult,
  PastRunError,
  readHistory,
  readPastResult,
} from '../experiment/history.ts'
import { plannedTools, type Plan } from '../experiment/plan.ts'
import { RejectedError, rejectionError } from '../experiment/rejection.ts'
import { progressBar } from '../load/load-progress.ts'
import { parseResult } from '../load/results/merge-results.ts'
import { type Measurement, measurementOf } from '../simulate/measured.ts'
import { simulate } from '../simulate/simulate.ts'
import { simulationText } from '../simulate/simulation-text.ts'
import { INTERRUPTED, InterruptedError, print, type RequestOf } from '#cli'
import { readAs } from '../cli/read-input.ts'
import { printRejected, readPlanFile, validPlan } from './read-plans.ts'

type SimulateRequest = RequestOf<typeof EXPERIMENT_SIMULATE>

const FAILED = 1
const MAX_RESULT = 64 * 1024 * 1024
/** Limits the past runs that are read. */
const MOST_RUNS = 20

/** Predicts the effect of a plan on a fleet; returns the exit code. */
export async function simulatePlan(request: SimulateRequest): Promise<number> {
  const { path, json } = request
  const { plan, rejections } = validPlan(path, (await readPlanFile(path)).read)
  // The stages of a rule would take the place of those of the plan.
  const staged = rejections.filter(({ code }) => code === 'RULES_STAGED')
  const interrupt = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
  const draws = !json && redraws(process.stderr, process.env)
  try {
    if (staged.length > 0) throw new RejectedError(...staged)
    const measurements = await measured(plan, request)
    const result = await simulate({
      ...request,
      plan,
      measurements,
      stop: interrupt.signal,
      onProgress: (share) => {
        if (!draws) return
        redraw(process.stderr, `${progressBar(share, 20)} ${Math.floor(share * 100)}%`)
      },
    })
    if (draws) process.stderr.write(CLEAR_LINE)
    if (result === undefined) {
      throw new InterruptedError('interrupted: fewer rounds would give a wrong interval')
    }
    await print(json ? `${JSON.stringify(result)}\n` : plainText(simulationText(result)))
    return 0
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    await printRejected(error.rejections, json, undefined, 'nothing was simulated')
    return FAILED
  } finally {
    interrupt.forget()
  }
}

/** Reads the named measurements, or those of past experiments on the target that can be used. */
async function measured(
  plan: Plan,
  { results: from, experiments }: SimulateRequest,
): Promise<readonly Measurement[]> {
  const names = [...new Set(plannedTools(plan))]
  const found: Measurement[] = []
  for (const file of from) {
    const load = await readAs(
      file,
      '--results',
      MAX_RESULT,
      (text) => parsePastResult(text)?.before.load ?? parseResult(text, quoted(file)),
    )
    found.push(measurementOf(file, load, names))
  }
  if (from.length > 0) return found
  const target = shownUrl(plan.target)
  const past = (await readHistory(experiments)).filter((entry) => entry.target === target)
  let unsuitable: RejectedError | undefined
  for (const { id } of past.slice(-MOST_RUNS)) {
    try {
      const { load } = (await readPastResult(experiments, id)).before
      if (load !== undefined) found.push(measurementOf(`run ${id}`, load, names))
    } catch (error) {
      if (error instanceof RejectedError) unsuitable = error
      else if (!(error instanceof PastRunError)) throw error
    }
  }
  if (found.length > 0) return found
  throw (
    unsuitable ??
    rejectionError(
      'NOT_MEASURED',
      `${experiments} has no experiment on ${target}`,
      'measure the tools: squall load --target URL --task-count 1000 --out result.json, then --results result.json',
    )
  )
}
