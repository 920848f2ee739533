import { quoted } from '../../base/text/foreign-text.ts'
import { type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { MAX_DURATION_MS } from '../../base/units.ts'
import { parseDuration } from '../flags/units.ts'
import { STOP_KEY } from '../../rules/guard/stop-key.ts'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import { parseProduction } from '../flags/production.ts'
import { UsageError } from '../flags/usage-error.ts'
import { APPLY_FLAGS, type ApplyFlag } from './apply-flags.ts'
import { type ClusterOptions, objectName, parseCluster } from './cluster-options.ts'

/** The options of `squall apply`. */
export interface ApplyRequest {
  readonly file: string
  readonly configMap: string
  readonly key: string
  readonly cluster: ClusterOptions
  /** Undefined where production is allowed. */
  readonly production: ProductionCheck | undefined
  readonly environmentLabel: string
  /** The time for which the rules may act, from now, in milliseconds. */
  readonly lastsMs: number | undefined
  readonly dryRun: boolean
  readonly timeoutMs: number
  readonly wait: boolean
  readonly json: boolean
}

const KEY = /^(?!\.\.)[-_A-Za-z0-9.]{1,253}$/
const LASTS = { min: 1_000, max: MAX_DURATION_MS }
const TIMEOUT = { min: 1_000, max: 3_600_000 }

/** Checks the command line and the environment. Throws nothing but a `UsageError`. */
export function parseApply(raw: RawFlags, env: Environment): ApplyRequest {
  const flags = new FlagValues<ApplyFlag>(APPLY_FLAGS, raw, env)
  const file = flags.optional('filename')
  if (file === undefined) {
    throw new UsageError(
      'MISSING_VALUE',
      'no rules file',
      'name one with -f, or - for standard input',
    )
  }
  const key = flags.required('key')
  if (!KEY.test(key.text) || key.text === STOP_KEY) {
    throw new UsageError(
      'BAD_VALUE',
      `${key.source}: ${quoted(key.text)} is no key for rules`,
      'use letters, digits, dots and dashes, such as rules.yaml',
    )
  }
  const timeout = flags.required('timeout')
  const lasts = flags.optional('for')
  return {
    file: file.text,
    configMap: objectName(flags.required('configmap')),
    key: key.text,
    cluster: parseCluster(flags, env),
    production: parseProduction(flags, env),
    environmentLabel: flags.required('environment-label').text,
    lastsMs: lasts && parseDuration(lasts.text, lasts.source, LASTS),
    dryRun: flags.switch('dry-run'),
    timeoutMs: parseDuration(timeout.text, timeout.source, TIMEOUT),
    wait: !flags.switch('no-wait'),
    json: flags.switch('json'),
  }
}
