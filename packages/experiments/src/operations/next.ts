import type { Policy } from '#rules'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { AdminError, API, askAdmin, endpointText } from '#admin-api'
import { makeDirectory, ownCommand, plain, shellWord, shownUrl } from '#base'
import type { EXPERIMENT_NEXT } from '../commands/next.ts'
import { ifThere } from '../load/sidecar-tasks.ts'
import { MonitorError } from '#protocol'
import { BaselinesError } from '../next/baselines.ts'
import { planFor, type PlanSetting } from '../next/next-plan.ts'
import type { Rank } from '../next/rank.ts'
import { allowedRanks, whatNext } from '../next/what-next.ts'
import { print, type RequestOf } from '#cli'
import { schemaLine } from '../cli/schema-line.ts'
import { readPolicyFile } from '../cli/policy.ts'
import { monitorHeadersOf } from './run-here.ts'

type NextRequest = RequestOf<typeof EXPERIMENT_NEXT>

/** The file of the learned behaviour, in the directory of the history. */
export const BASELINES = 'baselines.json'

/** A rank with its plan. */
type Shown = ReturnType<typeof shownRank>

/** Ranks what to test next, and writes the plans; returns the exit code. */
export async function showNext(request: NextRequest): Promise<number> {
  const policy = request.policy === undefined ? undefined : await readPolicyFile(request.policy)
  const url = new URL(`http://${endpointText(request.sidecar)}`)
  const { environment, ranks } = await evidence(url, request).catch((error: unknown) => {
    throw new Error(complaint(error, request), { cause: error })
  })
  const { target, limit, plans, json } = request
  // The plans may be stored in another directory.
  const rulesFile = resolve(request.rulesFile)
  const sidecar = { admin: url.origin, rulesFile }
  const setting = { url: target.href, environment, sidecar }
  const shown = plannedRanks(ranks, setting, policy, limit)
  const files = plans === undefined ? [] : await writePlans(plans, shown)
  await print(json ? `${JSON.stringify(shown, null, 2)}\n` : listText(shown, files, ranks.length))
  return 0
}

/** Returns the first ranks that a policy allows, with their plans within it. */
export function plannedRanks(
  ranks: readonly Rank[],
  setting: PlanSetting,
  policy: Policy | undefined,
  top: number,
): readonly Shown[] {
  return allowedRanks(ranks, policy)
    .slice(0, top)
    .map((each) => shownRank(each, planFor(each, { ...setting, limits: policy })))
}

async function evidence(url: URL, request: NextRequest) {
  const { target, experiments, prometheus: choice, readToken } = request
  const prometheus = choice && { ...choice, headers: await monitorHeadersOf(request) }
  const admin = { url, readToken }
  const { value: state } = await askAdmin(admin, API.state, { client: 'experiment' })
  const { value: recent } = await askAdmin(admin, API.history, { client: 'experiment' })
  const tasks = await ifThere(admin, API.tasks, 'experiment')
  const baselines = join(experiments, BASELINES)
  const sources = {
    target: shownUrl(target),
    experiments,
    recent,
    flows: tasks?.flows,
    baselines,
    prometheus,
  }
  return { environment: state.environment, ranks: await whatNext({ ...sources, learns: true }) }
}

/** Describes why the evidence cannot be read. */
function complaint(error: unknown, { experiments, sidecar, prometheus }: NextRequest): string {
  if (error instanceof AdminError) {
    return `the sidecar at ${endpointText(sidecar)} cannot be read: ${error.message}; set its admin port with --sidecar`
  }
  if (error instanceof BaselinesError) {
    return `${join(experiments, BASELINES)}: ${error.message}; remove the file`
  }
  if (!(error instanceof MonitorError)) throw error
  return `${prometheus!.url.origin} cannot be read: ${error.message}; check --prometheus and --label`
}

function shownRank({ tool, question, score, reasons }: Rank, plan: string) {
  const { id, asks, fault } = question
  return { tool, question: id, asks, fault, score: Number(score.toFixed(2)), reasons, plan }
}

async function writePlans(directory: string, shown: readonly Shown[]): Promise<readonly string[]> {
  await makeDirectory(directory)
  const files = shown.map(({ question }, i) => join(directory, `${i + 1}-${question}.yaml`))
  for (const [i, { plan }] of shown.entries()) {
    await writeFile(files[i]!, `${schemaLine('experiment', directory)}${plan}`)
  }
  return files
}

function listText(shown: readonly Shown[], files: readonly string[], all: number): string {
  if (shown.length === 0 && all > 0) {
    return 'the policy forbids all faults that could be tested, or all tools\n'
  }
  if (shown.length === 0) {
    return 'nothing to rank: no tool was called in the last 15 minutes; call tools through the sidecar first\n'
  }
  const lines = shown.flatMap(({ tool, fault, score, asks, reasons }, i) => [
    `${i + 1}. ${plain(tool)}, ${fault} (${score.toFixed(2)}): ${asks}`,
    `   ${reasons.join('; ')}`,
    ...(files[i] === undefined
      ? []
      : [`   ${ownCommand()} experiment run ${shellWord(plain(files[i]))}`]),
  ])
  const hint = files.length === 0 ? ['--plans DIRECTORY writes a plan for each'] : []
  return `${[...lines, ...hint].join('\n')}\n`
}
