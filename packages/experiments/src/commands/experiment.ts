import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ProductionCheck } from '#rules'
import {
  asText,
  type Context,
  type Environment,
  environmentLabelFlag,
  environmentNames,
  type FlagInput,
  group,
  invalidCombination,
  invalidValue,
  missing,
  one,
  operation,
  productionNamesFlag,
  readTokenFlag,
  readTokenOf,
  type RequestOf,
  toggle,
  type UsageError,
  type Values,
} from '#cli'
import { headerFlags } from '../cli/server-flags.ts'
import { EXPERIMENTS, JSON_OUT, PAGE, RUN_OPERAND, runOf, STORAGE } from './past-experiments.ts'
import { annotationPrefixFlag, CLUSTER_FLAGS, clusterOf, parseObjectName } from '#kubernetes'

const PLAN = 'Plan:'
const JOB = 'In the cluster:'

export const POLICY = group(PLAN, {
  policy: one('file', 'policy that limits experiments: squall mcp policy --help', asText),
})

/** The option for the directory of locks and proposals. */
export const STATE = group(STORAGE, {
  stateDir: one(
    'directory',
    'directory for proposals and locks (one experiment per target; default: squall in XDG_STATE_HOME or ~/.local/state)',
    asText,
  ),
})

/** The options for the access of runs, and for their directories. */
export const ACCESS_FLAGS = {
  ...headerFlags(PLAN),
  ...readTokenFlag(PLAN),
  ...productionNamesFlag(PLAN),
  ...group(PLAN, {
    monitorTokenFile: one(
      'file',
      'file with a bearer token for Alertmanager and Prometheus (or set SQUALL_MONITOR_TOKEN)',
      asText,
    ),
    kubeconfig: one(
      'file',
      'kubeconfig for access to the pods and to the namespace of the sidecar (default: KUBECONFIG, the service account of the pod, or ~/.kube/config)',
      asText,
    ),
    context: one('name', 'kubeconfig context (default: from the plan, or the current one)', asText),
  }),
  ...annotationPrefixFlag(PLAN),
  ...environmentLabelFlag(PLAN),
  ...EXPERIMENTS,
  ...STATE,
}

const RUN_FLAGS = {
  ...ACCESS_FLAGS,
  ...POLICY,
  ...group(JOB, {
    inCluster: toggle('run the plan as a Job in the namespace of its pods'),
    image: one(
      'image',
      "Squall image for the Job (default: the sidecars' image, without the tag suffix -sidecar)",
      asImage,
    ),
    serviceAccount: one(
      'name',
      'service account for the Job, created by the chart value experiments.namespaces',
      parseObjectName,
      { default: 'squall-experiment' },
    ),
  }),
  ...JSON_OUT,
  ...group('Output:', {
    progress: toggle('with --json: also show progress on standard error'),
    junit: one(
      'file',
      'write phases and verdict as JUnit XML, which CI systems show as tests',
      asText,
    ),
  }),
}

const EXIT_CODES = `
Exit code: 0 when the experiment passed, 1 when it failed, was inconclusive or was rejected, 2 for a usage error
or an invalid plan, 130 when it was interrupted.`

export const EXPERIMENT_RUN = operation({
  name: 'experiment run',
  examples: [
    'experiment run plan.yaml',
    'experiment run plan.yaml --json',
    'experiment run plan.yaml --in-cluster',
  ],
  page: PAGE,
  description: 'run a plan: steady state, stages of faults under load, rollback, verdict, report',
  operands: { form: '<plan>', most: 1 },
  flags: RUN_FLAGS,
  note: EXIT_CODES,
  parse: (flags, context) => {
    const [path] = context.operands
    if (path === undefined) throw noPlan('run')
    return { plan: { kind: 'file' as const, path }, ...runRequest(flags, context) }
  },
})

export const EXPERIMENT_AGAIN = operation({
  name: 'experiment again',
  examples: ['experiment again last', 'experiment again 20261125-1804'],
  page: PAGE,
  description: 'repeat a past run exactly, with its stored plan, rules and seed',
  operands: RUN_OPERAND,
  flags: RUN_FLAGS,
  note: EXIT_CODES,
  parse: (flags, context) => {
    const id = runOf(context.operands)
    return { plan: { kind: 'again' as const, id }, ...runRequest(flags, context) }
  },
})

/** A run of a plan in a file, or of the plan of an earlier run. */
export type RunRequest = RequestOf<typeof EXPERIMENT_RUN> | RequestOf<typeof EXPERIMENT_AGAIN>

function runRequest(flags: Values<typeof RUN_FLAGS>, given: Context) {
  return {
    ...accessOf(flags, given.env),
    inCluster: inClusterOf(flags, given),
    progress: flags.progress,
    junit: flags.junit,
    policy: flags.policy,
    json: flags.json,
  }
}

/** Returns the access of runs, and the names that mean production. */
export function accessOf(flags: Values<typeof ACCESS_FLAGS>, env: Environment) {
  const { kubeconfig, context, environmentLabel } = flags
  return {
    headers: flags.header,
    authTokenFile: flags.authTokenFile,
    monitorTokenFile: flags.monitorTokenFile,
    monitorToken: env['SQUALL_MONITOR_TOKEN'],
    readToken: readTokenOf(flags.adminReadTokenFile, env),
    production: productionOf(flags.productionNames, env),
    cluster: { kubeconfig, context, environmentLabel, env },
    prefix: flags.annotationPrefix,
    experiments: flags.experiments,
    stateDirectory: stateOf(flags.stateDir, env),
  }
}

const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,511}$/

function asImage(given: FlagInput): string {
  if (IMAGE.test(given.text)) return given.text
  throw invalidValue(given, 'is not a valid image name', 'use a name such as example.com/squall:1')
}

function inClusterOf(flags: Values<typeof RUN_FLAGS>, { names }: Context) {
  const { inCluster, image, serviceAccount, header, authTokenFile, monitorTokenFile } = flags
  if (!inCluster) {
    const alone = ['image', 'service-account'].find((each) => names(each))
    if (alone === undefined) return undefined
    throw invalidCombination(
      `--${alone} requires --in-cluster`,
      `add --in-cluster, or remove --${alone}`,
    )
  }
  const tokenFile = authTokenFile ?? monitorTokenFile
  if (Object.keys(header).length > 0 || tokenFile !== undefined) {
    throw invalidCombination(
      '--in-cluster cannot pass headers or tokens: they would be readable in the Job',
      'run the experiment without --in-cluster, or allow unauthenticated access to target and monitor',
    )
  }
  return { image, serviceAccount }
}

const { selector: _, ...RESTORE_CLUSTER } = CLUSTER_FLAGS

export const EXPERIMENT_RESTORE = operation({
  name: 'experiment restore',
  examples: ['experiment restore -n shop', 'experiment restore -n shop --force'],
  page: PAGE,
  description: 'restore the ConfigMap that an experiment replaced before its process died',
  flags: {
    ...RESTORE_CLUSTER,
    ...group('The cluster:', {
      configmap: one('name', 'ConfigMap that the experiment replaced', parseObjectName, {
        default: 'squall-rules',
      }),
      force: toggle('restore the ConfigMap even if the claim of the experiment has not expired'),
    }),
    ...JSON_OUT,
  },
  parse: ({ configmap, force, json, ...flags }, context) => {
    return { cluster: clusterOf(flags, context), configMap: configmap, force, json }
  },
})

export const EXPERIMENT_VALIDATE = operation({
  name: 'experiment validate',
  examples: ['experiment validate plan.yaml', 'experiment validate one.yaml two.yaml'],
  page: PAGE,
  description:
    'validate plans, and list all reasons for rejection that do not depend on a sidecar or monitor',
  operands: { form: '<plans...>', most: Infinity },
  flags: { ...productionNamesFlag(PLAN), ...POLICY, ...JSON_OUT },
  parse: ({ productionNames, policy, json }, { operands: paths }) => {
    if (paths.length === 0) throw noPlan('validate')
    // The result does not depend on the environment of the command.
    return { paths, json, policy, production: productionOf(productionNames, {}) }
  },
})

/** Ignores NODE_ENV, because the plan names the environment. */
function productionOf(patterns: readonly string[], env: Environment): ProductionCheck {
  const stated = { where: 'the plan', name: undefined }
  return { patterns, names: environmentNames(stated, env) }
}

function noPlan(command: string): UsageError {
  return missing(
    'no plan',
    `see squall experiment ${command} --help, or list ready-made plans with squall experiment catalog`,
  )
}

/** Returns the directory of locks and proposals. */
export function stateOf(given: string | undefined, env: Environment): string {
  if (given !== undefined) return given
  const base = env['XDG_STATE_HOME']
  return join(
    base !== undefined && base.startsWith('/') ? base : join(homedir(), '.local', 'state'),
    'squall',
  )
}
