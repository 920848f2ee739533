import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import { readTokenFlag, readTokenOf } from '../flags/admin-access.ts'
import { defineCommand } from '../flags/command.ts'
import { type Environment, group } from '../flags/flag.ts'
import { asText, one, toggle } from '../flags/kinds.ts'
import { environmentLabelFlag, environmentNames, productionNamesFlag } from '../flags/production.ts'
import { headerFlags } from '../flags/server.ts'
import {
  annotationPrefixFlag,
  CLUSTER_FLAGS,
  clusterOf,
  parseObjectName,
} from '../kube/cluster-options.ts'
import { invalidCombination, missing, type UsageError } from '../flags/usage-error.ts'

const PLAN = 'Plan:'
const STORAGE = 'Storage:'
const PAGE = 'docs/guides/experiments.md'

const EXPERIMENTS = group(STORAGE, {
  experiments: one('directory', 'directory of the history and of the reports', asText, {
    default: 'experiments',
  }),
})

const JSON_OUT = group('Output:', {
  json: toggle('print JSON on standard output, and nothing on standard error'),
})

export const EXPERIMENT_RUN = defineCommand({
  name: 'experiment run',
  examples: ['experiment run plan.yaml', 'experiment run plan.yaml --json'],
  page: PAGE,
  description: 'run a plan: steady state, stages of faults under load, rollback, verdict, report',
  operands: { form: '[plan]', most: 1 },
  flags: {
    ...group(PLAN, {
      again: one(
        'id',
        'repeat an earlier run exactly, with its stored plan, rules and seed; replaces the plan',
        asText,
      ),
    }),
    ...headerFlags(PLAN),
    ...readTokenFlag(PLAN),
    ...productionNamesFlag(PLAN),
    ...group(PLAN, {
      monitorTokenFile: one(
        'file',
        'file with a token for Alertmanager and Prometheus, sent as Authorization: Bearer (or SQUALL_MONITOR_TOKEN itself)',
        asText,
      ),
      kubeconfig: one(
        'file',
        'kubeconfig for pods, and to read the namespace of the sidecar (default: KUBECONFIG, or ~/.kube/config)',
        asText,
      ),
      context: one(
        'name',
        'context of the kubeconfig (default: that of the plan, or the current one)',
        asText,
      ),
    }),
    ...annotationPrefixFlag(PLAN),
    ...environmentLabelFlag(PLAN),
    ...EXPERIMENTS,
    ...group(STORAGE, {
      stateDir: one(
        'directory',
        'directory of the locks that allow one experiment per target (default: squall in XDG_STATE_HOME or ~/.local/state)',
        asText,
      ),
    }),
    ...JSON_OUT,
    ...group('Output:', {
      junit: one(
        'file',
        'write phases and verdict as JUnit XML, which CI systems show as tests',
        asText,
      ),
    }),
  },
  note: `
Exit code: 0 when the experiment passed, 1 when it failed, was inconclusive or was rejected, 2 for a usage error
or an invalid plan, 130 when it was interrupted.`,
  parse: (flags, { env, operands: [path] }) => {
    const { again, kubeconfig, context, environmentLabel } = flags
    if (path !== undefined && again !== undefined) {
      throw invalidCombination('a plan and --again exclude each other', 'name one')
    }
    if (path === undefined && again === undefined) throw noPlan('run')
    return {
      plan:
        path === undefined
          ? { kind: 'again' as const, id: again! }
          : { kind: 'file' as const, path },
      headers: flags.header,
      authTokenFile: flags.authTokenFile,
      junit: flags.junit,
      monitorTokenFile: flags.monitorTokenFile,
      monitorToken: env['SQUALL_MONITOR_TOKEN'],
      readToken: readTokenOf(flags.adminReadTokenFile, env),
      production: productionOf(flags.productionNames, env),
      cluster: { kubeconfig, context, environmentLabel, env },
      prefix: flags.annotationPrefix,
      experiments: flags.experiments,
      stateDirectory: flags.stateDir ?? defaultState(env),
      json: flags.json,
    }
  },
  start: async (request) => (await import('../experiment/run.ts')).runPlan(request),
})

const { selector: _, ...RESTORE_CLUSTER } = CLUSTER_FLAGS

export const EXPERIMENT_RESTORE = defineCommand({
  name: 'experiment restore',
  examples: ['experiment restore -n shop', 'experiment restore -n shop --force'],
  page: PAGE,
  description: 'restore the ConfigMap of an experiment on pods whose process died',
  flags: {
    ...RESTORE_CLUSTER,
    ...group('The cluster:', {
      configmap: one('name', 'ConfigMap that the experiment replaced', parseObjectName, {
        default: 'squall-rules',
      }),
      force: toggle('end an experiment whose claim has not expired'),
    }),
    ...JSON_OUT,
  },
  parse: ({ configmap, force, json, ...flags }, context) => {
    return { cluster: clusterOf(flags, context), configMap: configmap, force, json }
  },
  start: async (request) => (await import('../experiment/restore.ts')).restoreRules(request),
})

export const EXPERIMENT_LIST = defineCommand({
  name: 'experiment list',
  examples: ['experiment list', 'experiment list --json'],
  page: PAGE,
  description: 'list past experiments, the newest last',
  flags: { ...EXPERIMENTS, ...JSON_OUT },
  parse: (flags) => flags,
  start: async (request) => (await import('../experiment/list.ts')).listExperiments(request),
})

export const EXPERIMENT_VALIDATE = defineCommand({
  name: 'experiment validate',
  examples: ['experiment validate plan.yaml', 'experiment validate one.yaml two.yaml'],
  page: PAGE,
  description: 'check plans: errors, and reasons to reject them',
  operands: { form: '[plans...]', most: Infinity },
  flags: { ...productionNamesFlag(PLAN), ...JSON_OUT },
  parse: ({ productionNames, json }, { operands: paths }) => {
    if (paths.length === 0) throw noPlan('validate')
    // The result does not depend on the environment of the command.
    return { paths, json, production: productionOf(productionNames, {}) }
  },
  start: async (request) => (await import('../experiment/read-plans.ts')).validatePlans(request),
})

export const EXPERIMENT_CATALOG = defineCommand({
  name: 'experiment catalog',
  examples: ['experiment catalog', 'experiment catalog latency > plan.yaml'],
  page: PAGE,
  description: 'list ready plans, or print one',
  operands: { form: '[name]', most: 1 },
  flags: {},
  parse: (_flags, { operands: [name] }) => name,
  start: async (name) => (await import('../experiment/list.ts')).showCatalog(name),
})

/** Ignores NODE_ENV, because the plan names the environment. */
function productionOf(patterns: readonly string[], env: Environment): ProductionCheck {
  const stated = { where: 'the plan', name: undefined }
  return { patterns, names: environmentNames(stated, env) }
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
