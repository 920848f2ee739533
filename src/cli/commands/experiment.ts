import {
  environmentLabelFlag,
  environmentNames,
  parseProductionNames,
  productionNamesFlag,
} from '../flags/production.ts'
import { readTokenFlag, parseReadToken } from '../flags/admin-access.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { defineCommand } from '../flags/command.ts'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import { parseHeaders } from '../load/load-headers.ts'
import { badCombination, missing, type UsageError } from '../flags/usage-error.ts'

const PLAN = 'Plan:'
const PLACES = 'Storage:'

const EXPERIMENTS = flagGroup(PLACES, {
  experiments: [
    'directory',
    'directory of the history and of the reports',
    { default: 'experiments' },
  ],
})

const JSON_OUT = flagGroup('Output:', {
  json: 'print JSON on standard output, and nothing on standard error',
})

/** The cluster whose API server has the namespace of the sidecar. */
const CLUSTER = flagGroup(PLAN, {
  kubeconfig: [
    'file',
    'kubeconfig to read the namespace of the sidecar (default: KUBECONFIG, or ~/.kube/config)',
  ],
  context: ['name', 'context of the kubeconfig (default: the current one)'],
})

const EXPERIMENT_RUN_FLAGS = [
  ...flagGroup(PLAN, {
    again: [
      'id',
      'repeat an earlier run exactly, with its stored plan, rules and seed; replaces the plan',
    ],
    header: ['name=value', 'header of every request; never shown or stored', { repeatable: true }],
    'auth-token-file': ['file', 'file with a token that is sent as Authorization: Bearer'],
  }),
  ...readTokenFlag(PLAN),
  ...productionNamesFlag(PLAN),
  ...CLUSTER,
  ...environmentLabelFlag(PLAN),
  ...EXPERIMENTS,
  ...flagGroup(PLACES, {
    'state-dir': [
      'directory',
      'directory of the locks that allow one experiment per target (default: squall in XDG_STATE_HOME or ~/.local/state)',
    ],
  }),
  ...JSON_OUT,
  ...flagGroup('Output:', {
    junit: ['file', 'write phases and verdict as JUnit XML, which CI systems show as tests'],
  }),
]

const EXPERIMENT_LIST_FLAGS = [...EXPERIMENTS, ...JSON_OUT]

const EXPERIMENT_VALIDATE_FLAGS = [...productionNamesFlag(PLAN), ...JSON_OUT]

export const EXPERIMENT_RUN = defineCommand({
  name: 'experiment run',
  examples: ['experiment run plan.yaml', 'experiment run plan.yaml --json'],
  page: 'docs/guides/experiments.md',
  description: 'run a plan: steady state, stages of faults under load, rollback, verdict, report',
  operands: { form: '[plan]', most: 1 },
  flags: EXPERIMENT_RUN_FLAGS,
  note: `
Exit code: 0 when the experiment passed, 1 when it failed, was inconclusive or was refused, 2 for bad
usage or an invalid plan, 130 when it was interrupted.`,
  parse: parseExperimentRun,
  start: async (request) => (await import('../experiment/run.ts')).runPlan(request),
})

export const EXPERIMENT_LIST = defineCommand({
  name: 'experiment list',
  examples: ['experiment list', 'experiment list --json'],
  page: 'docs/guides/experiments.md',
  description: 'list past experiments, the newest last',
  flags: EXPERIMENT_LIST_FLAGS,
  parse: parseExperimentList,
  start: async (request) => (await import('../experiment/list.ts')).listExperiments(request),
})

export const EXPERIMENT_VALIDATE = defineCommand({
  name: 'experiment validate',
  examples: ['experiment validate plan.yaml', 'experiment validate one.yaml two.yaml'],
  page: 'docs/guides/experiments.md',
  description: 'check plans: errors, and reasons to refuse them',
  operands: { form: '[plans...]', most: Infinity },
  flags: EXPERIMENT_VALIDATE_FLAGS,
  parse: parseExperimentValidate,
  start: async (request) => (await import('../experiment/read-plans.ts')).validatePlans(request),
})

export const EXPERIMENT_CATALOG = defineCommand({
  name: 'experiment catalog',
  examples: ['experiment catalog', 'experiment catalog latency > plan.yaml'],
  page: 'docs/guides/experiments.md',
  description: 'list ready plans, or print one',
  operands: { form: '[name]', most: 1 },
  flags: [],
  parse: (_raw, _env, [name]) => name,
  start: async (name) => (await import('../experiment/list.ts')).showCatalog(name),
})

export type ExperimentRunRequest = ReturnType<typeof parseExperimentRun>

function parseExperimentRun(raw: RawFlags, env: Environment, paths: readonly string[]) {
  const flags = new FlagValues(EXPERIMENT_RUN_FLAGS, raw, env)
  const [path] = paths
  const again = flags.optional('again')?.text
  if (path !== undefined && again !== undefined) {
    throw badCombination('a plan and --again exclude each other', 'name one')
  }
  if (path === undefined && again === undefined) throw noPlan('run')
  return {
    plan:
      path === undefined ? { kind: 'again' as const, id: again! } : { kind: 'file' as const, path },
    headers: parseHeaders(flags.all('header')),
    authTokenFile: flags.optional('auth-token-file')?.text,
    junit: flags.optional('junit')?.text,
    /** The read token of the sidecar, if it requires one. */
    readToken: parseReadToken(flags, env),
    production: productionOf(flags, env),
    cluster: {
      kubeconfig: flags.optional('kubeconfig')?.text,
      context: flags.optional('context')?.text,
      environmentLabel: flags.required('environment-label').text,
      env,
    },
    experiments: flags.required('experiments').text,
    stateDirectory: flags.optional('state-dir')?.text ?? defaultState(env),
    json: flags.switch('json'),
  }
}

/** Ignores NODE_ENV, because the plan names the environment. */
function productionOf(flags: FlagValues<'production-names'>, env: Environment): ProductionCheck {
  const stated = { where: 'the plan', name: undefined }
  return { patterns: parseProductionNames(flags), places: environmentNames(stated, env) }
}

export type ExperimentListRequest = ReturnType<typeof parseExperimentList>

function parseExperimentList(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(EXPERIMENT_LIST_FLAGS, raw, env)
  return { experiments: flags.required('experiments').text, json: flags.switch('json') }
}

export type ExperimentValidateRequest = ReturnType<typeof parseExperimentValidate>

function parseExperimentValidate(raw: RawFlags, env: Environment, paths: readonly string[]) {
  if (paths.length === 0) throw noPlan('validate')
  const flags = new FlagValues(EXPERIMENT_VALIDATE_FLAGS, raw, env)
  // The result does not depend on the environment of the command.
  return { paths, json: flags.switch('json'), production: productionOf(flags, {}) }
}

function noPlan(command: string): UsageError {
  return missing(
    'no plan',
    `see squall experiment ${command} --help, and squall experiment catalog for ready ones`,
  )
}

function defaultState(env: Environment): string {
  const base = env['XDG_STATE_HOME']
  return join(
    base !== undefined && base.startsWith('/') ? base : join(homedir(), '.local', 'state'),
    'squall',
  )
}
