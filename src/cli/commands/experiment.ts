import { defineCommand } from '../flags/command.ts'
import {
  EXPERIMENT_LIST_FLAGS,
  EXPERIMENT_RUN_FLAGS,
  EXPERIMENT_VALIDATE_FLAGS,
} from '../experiment/experiment-flags.ts'
import {
  parseExperimentList,
  parseExperimentRun,
  parseExperimentValidate,
} from '../experiment/experiment-request.ts'

/** `squall experiment run`. */
export const EXPERIMENT_RUN = defineCommand({
  name: 'experiment run',
  description: 'run a plan: steady state, stages of faults under load, roll back, verdict, report',
  operands: { form: '[plan]', most: 1 },
  flags: EXPERIMENT_RUN_FLAGS,
  note: `
Exit code: 0 when it held, 1 when it was breached, inconclusive or refused, 2 for bad usage or a plan
with mistakes, 130 when it was ended by hand. Example:
  squall experiment catalog latency > plan.yaml; squall experiment run plan.yaml`,
  parse: (raw, env, paths) => parseExperimentRun(raw, env, paths),
  start: async (request) => {
    const { runPlan } = await import('../experiment/run.ts')
    return runPlan(request)
  },
})

/** `squall experiment list`. */
export const EXPERIMENT_LIST = defineCommand({
  name: 'experiment list',
  description: 'list the experiments that were run, the newest last',
  flags: EXPERIMENT_LIST_FLAGS,
  parse: (raw, env) => parseExperimentList(raw, env),
  start: async (request) => {
    const { listExperiments } = await import('../experiment/list.ts')
    return listExperiments(request)
  },
})

/** `squall experiment validate`. */
export const EXPERIMENT_VALIDATE = defineCommand({
  name: 'experiment validate',
  description: 'check plans: their mistakes, and why they would be refused',
  operands: { form: '[plans...]', most: Infinity },
  flags: EXPERIMENT_VALIDATE_FLAGS,
  parse: (raw, env, paths) => parseExperimentValidate(raw, env, paths),
  start: async (request) => {
    const { validatePlans } = await import('../experiment/validate.ts')
    return validatePlans(request)
  },
})

/** `squall experiment catalog`. */
export const EXPERIMENT_CATALOG = defineCommand({
  name: 'experiment catalog',
  description: 'list ready plans, or print one',
  operands: { form: '[name]', most: 1 },
  flags: [],
  parse: (_raw, _env, [name]) => name,
  start: async (name) => {
    const { showCatalog } = await import('../experiment/catalog.ts')
    return showCatalog(name)
  },
})
