import { homedir } from 'node:os'
import { join } from 'node:path'
import type { FlagSpec } from '../flags/flag-table.ts'
import { type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import { parseHeaders } from '../load/load-headers.ts'
import { environmentNames, parseProductionNames } from '../flags/production.ts'
import { parseReadToken } from '../run/run-admin-token.ts'
import type { LabelSource } from './namespace-label.ts'
import { UsageError } from '../flags/usage-error.ts'
import {
  EXPERIMENT_LIST_FLAGS,
  EXPERIMENT_RUN_FLAGS,
  EXPERIMENT_VALIDATE_FLAGS,
  type ExperimentFlag,
} from './experiment-flags.ts'

/** The options of `squall experiment run`. */
export interface ExperimentRunRequest {
  readonly plan:
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'again'; readonly id: string }
  readonly headers: Readonly<Record<string, string>>
  readonly authTokenFile: string | undefined
  /** The read token of the sidecar, where it asks for one. */
  readonly readToken: string | undefined
  readonly production: ProductionCheck
  readonly cluster: LabelSource
  readonly experiments: string
  readonly stateDirectory: string
  readonly json: boolean
}

/** Checks what `squall experiment run` was given. Throws nothing but a `UsageError`. */
export function parseExperimentRun(
  raw: RawFlags,
  env: Environment,
  paths: readonly string[],
): ExperimentRunRequest {
  const flags = valuesOf(EXPERIMENT_RUN_FLAGS, raw, env)
  const [path] = paths
  const again = flags.optional('again')?.text
  if (path !== undefined && again !== undefined) {
    throw new UsageError('BAD_COMBINATION', 'a plan and --again exclude each other', 'name one')
  }
  if (path === undefined && again === undefined) throw noPlan('run')
  return {
    plan: path === undefined ? { kind: 'again', id: again! } : { kind: 'file', path },
    headers: parseHeaders(flags.all('header')),
    authTokenFile: flags.optional('auth-token-file')?.text,
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

/** The plan names the environment, so that NODE_ENV says nothing. */
function productionOf(flags: FlagValues<'production-names'>, env: Environment): ProductionCheck {
  const stated = { where: 'the plan', name: undefined }
  return { patterns: parseProductionNames(flags), places: environmentNames(stated, env) }
}

/** The options of `squall experiment list`. */
export interface ExperimentListRequest {
  readonly experiments: string
  readonly json: boolean
}

/** Checks what `squall experiment list` was given. Throws nothing but a `UsageError`. */
export function parseExperimentList(raw: RawFlags, env: Environment): ExperimentListRequest {
  const flags = valuesOf(EXPERIMENT_LIST_FLAGS, raw, env)
  return { experiments: flags.required('experiments').text, json: flags.switch('json') }
}

/** The options of `squall experiment validate`. */
export interface ExperimentValidateRequest {
  readonly paths: readonly string[]
  readonly production: ProductionCheck
  readonly json: boolean
}

/** Checks what `squall experiment validate` was given. Throws nothing but a `UsageError`. */
export function parseExperimentValidate(
  raw: RawFlags,
  env: Environment,
  paths: readonly string[],
): ExperimentValidateRequest {
  if (paths.length === 0) throw noPlan('validate')
  const flags = valuesOf(EXPERIMENT_VALIDATE_FLAGS, raw, env)
  // A plan is good or not wherever that is asked.
  return { paths, json: flags.switch('json'), production: productionOf(flags, {}) }
}

function valuesOf(
  specs: readonly FlagSpec[],
  raw: RawFlags,
  env: Environment,
): FlagValues<ExperimentFlag> {
  return new FlagValues<ExperimentFlag>(specs, raw, env)
}

function noPlan(command: string): UsageError {
  return new UsageError(
    'MISSING_VALUE',
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
