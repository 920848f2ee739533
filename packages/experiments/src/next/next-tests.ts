import type { Policy } from '#rules'
import { join } from 'node:path'
import { planFor, type PlanSetting } from './next-plan.ts'
import { type Behaviour, type Rank, rank } from './rank.ts'
import { asInvoked, foreign } from '#base'
import { NEXT, type NextTests } from '../experiment/experiment-report.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import type { Plan } from '../experiment/plan.ts'
import { readStored } from '../experiment/saved-plan.ts'
import type { SavedPlan } from '../experiment/read-plan.ts'
import { cell, type ReportTable } from '../report/report-table.ts'
import { merged } from './baselines.ts'
import { pastRuns, testsOf } from './past-tests.ts'
import { allowedRanks, isPlainName } from './what-next.ts'

const SHOWN = 3

/** The policy of a run, and its file. */
export interface PolicyOfRun {
  readonly policy: Policy
  readonly file: string
}

/**
 * Ranks what to test after a run: by its load before the stages, that of earlier runs as the usual
 * behaviour, and the tests of all of them. Undefined when the load called no tool, or when the
 * target calls other tools than the load.
 */
export async function nextTests(
  experiments: string,
  result: ExperimentResult,
  kept: SavedPlan,
  limits?: PolicyOfRun,
): Promise<NextTests | undefined> {
  const read = await readStored(kept)
  const now = toolsBefore(result).filter(({ tool }) => isPlainName(tool))
  if (!read.ok || read.plan.file.target.indirect || now.length === 0) return undefined
  const { plan } = read
  const earlier = await pastRuns(experiments, result.target)
  const usual = new Map<string, Behaviour>()
  for (const each of earlier.flatMap((run) => toolsBefore(run.result))) {
    usual.set(each.tool, merged(usual.get(each.tool), each))
  }
  // The load before a run resembles itself, which says nothing.
  const own = testsOf(result, plan.rules?.rules ?? []).map((test) => ({
    ...test,
    before: undefined,
  }))
  const past = [...earlier.flatMap((run) => testsOf(run.result, run.rules)), ...own]
  const at = Date.parse(result.endedAt)
  const ranks = allowedRanks(rank({ now, usual, past, at }), limits?.policy).slice(0, SHOWN)
  const setting = { ...settingOf(plan, result), limits: limits?.policy }
  const plans = ranks.map((each, i) => ({
    name: `${i + 1}-${each.question.id}.yaml`,
    plan: planFor(each, setting),
  }))
  const files = plans.map(({ name }) => join(experiments, result.id, NEXT, name))
  const flags = limits === undefined ? '' : ` --policy ${limits.file}`
  return { table: nextTable(ranks, files, { target: result.target, flags }), plans }
}

function settingOf({ sidecar, file }: Plan, result: ExperimentResult): PlanSetting {
  const { indirect: _, ...target } = file.target
  return {
    url: result.target,
    // With the query, the client and the headers of the run.
    target,
    environment: result.environment,
    sidecar:
      sidecar.kind === 'local'
        ? { admin: sidecar.admin.url.href, rulesFile: sidecar.rulesFile }
        : { kubernetes: file.sidecar.kubernetes },
  }
}

function toolsBefore({ before }: ExperimentResult): readonly Behaviour[] {
  const tools = before.load?.tools ?? []
  return tools
    .filter(({ calls }) => calls > 0)
    .map(({ tool, calls, responded, latency: { summary } }) => {
      const p95 = summary.p95 === null ? null : summary.p95 / 1000
      return { tool, calls, errors: calls - responded, p95, bytes: null }
    })
}

function nextTable(
  ranks: readonly Rank[],
  files: readonly string[],
  { target, flags }: { readonly target: string; readonly flags: string },
): ReportTable {
  const command = asInvoked(`squall experiment next --target ${target}${flags}`)
  return {
    title: 'What to test next',
    about: `Ranked by the load before the stages and the history of this target; ${command} also uses the current traffic of the sidecar.`,
    columns: [{ name: 'Tool' }, { name: 'Fault' }, { name: 'Reasons' }, { name: 'Command' }],
    // The order ranks; scores of the same tool are often equal, and their parts say little here.
    rows: ranks.map(({ tool, question, reasons }, i) => [
      cell(foreign(tool)),
      { text: question.fault, about: question.asks },
      cell(foreign(reasons.join('; ').replaceAll(/: (?:weight |\+)[\d.]+/g, ''), 400)),
      cell(foreign(asInvoked(`squall experiment run${flags} ${files[i]}`), 400)),
    ]),
  }
}
