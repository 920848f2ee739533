import { type Command, command } from '#cli'
import { CHECK } from './check.ts'
import { DEMO } from './demo.ts'
import {
  EXPERIMENT_AGAIN,
  EXPERIMENT_RESTORE,
  EXPERIMENT_RUN,
  EXPERIMENT_VALIDATE,
} from './experiment.ts'
import { IMPORT } from './import.ts'
import { INIT } from './init.ts'
import { LOAD } from './load.ts'
import { MCP, MCP_APPROVE } from './mcp.ts'
import { EXPERIMENT_NEXT } from './next.ts'
import {
  EXPERIMENT_CATALOG,
  EXPERIMENT_COMPARE,
  EXPERIMENT_LIST,
  EXPERIMENT_SHOW,
} from './past-experiments.ts'
import { MCP_HOOK, POLICY_INIT, POLICY_PRINT, POLICY_TRUST, POLICY_VALIDATE } from './policy.ts'
import { LOAD_MERGE, LOAD_REPORT } from './report.ts'
import { SCHEMA } from './schema.ts'
import { EXPERIMENT_SEARCH } from './search.ts'
import { EXPERIMENT_SIMULATE } from './simulate.ts'
import { SWEEP } from './sweep.ts'
import { TAPE_CHECK, TAPE_DIFF, TAPE_SERVE, TAPE_SHOW } from './tape.ts'
import { TRY } from './try.ts'

export const COMMANDS: readonly Command[] = [
  DEMO,
  command(SWEEP, () => import('../operations/sweep.ts'), 'sweepTape'),
  command(TRY, () => import('../try/try.ts'), 'trySquall'),
  INIT,
  command(CHECK, () => import('../check/check.ts'), 'checkCommand'),
  command(LOAD, () => import('../cli/load.ts'), 'loadCommand'),
  command(LOAD_REPORT, () => import('../cli/report.ts'), 'showResults'),
  command(LOAD_MERGE, () => import('../cli/report.ts'), 'mergeShards'),
  command(EXPERIMENT_RUN, () => import('../operations/run.ts'), 'runPlan'),
  command(EXPERIMENT_VALIDATE, () => import('../operations/read-plans.ts'), 'validatePlans'),
  command(EXPERIMENT_CATALOG, () => import('../operations/list.ts'), 'showCatalog'),
  command(EXPERIMENT_NEXT, () => import('../operations/next.ts'), 'showNext'),
  command(EXPERIMENT_LIST, () => import('../operations/list.ts'), 'listExperiments'),
  command(EXPERIMENT_SHOW, () => import('../operations/past.ts'), 'showExperiment'),
  command(EXPERIMENT_COMPARE, () => import('../operations/past.ts'), 'compareExperiments'),
  command(EXPERIMENT_AGAIN, () => import('../operations/run.ts'), 'runPlan'),
  command(EXPERIMENT_SEARCH, () => import('../operations/search.ts'), 'searchLimit'),
  command(EXPERIMENT_SIMULATE, () => import('../operations/simulate.ts'), 'simulatePlan'),
  command(EXPERIMENT_RESTORE, () => import('../operations/restore.ts'), 'restoreRules'),
  command(MCP, () => import('../mcp-server/serve.ts'), 'serveControl'),
  command(MCP_APPROVE, () => import('../mcp-server/approve.ts'), 'approveProposal'),
  command(MCP_HOOK, () => import('../cli/hook.ts'), 'checkHook'),
  command(POLICY_INIT, () => import('../cli/policy.ts'), 'initPolicy'),
  command(POLICY_TRUST, () => import('../cli/policy.ts'), 'trustPolicyFile'),
  command(POLICY_VALIDATE, () => import('../cli/policy.ts'), 'validatePolicies'),
  command(POLICY_PRINT, () => import('../cli/policy.ts'), 'printPolicy'),
  command(TAPE_SERVE, () => import('../tape/serve.ts'), 'serveTape'),
  command(TAPE_SHOW, () => import('../tape/show.ts'), 'showTape'),
  command(TAPE_DIFF, () => import('../tape/compare.ts'), 'diffTapes'),
  command(TAPE_CHECK, () => import('../tape/compare.ts'), 'checkTape'),
  SCHEMA,
  command(IMPORT, () => import('../cli/import.ts'), 'importCommand'),
]
