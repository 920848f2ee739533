import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import { ATTACHED_FOR } from '../attach/attached-options.ts'
import { type Environment, FlagValues, type Given, type RawFlags } from '../flags/flag-values.ts'
import { parseProduction } from '../flags/production.ts'
import { parseChoice, parseDuration } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'
import { readVersion } from '../version.ts'
import { ATTACH_FLAGS, type AttachFlag, DETACH_FLAGS, type DetachFlag } from './attach-flags.ts'
import { type ClusterOptions, objectName, parseCluster } from './cluster-options.ts'

/** The options of `squall detach`. */
export interface DetachRequest {
  readonly pod: string
  readonly cluster: ClusterOptions
  readonly timeoutMs: number
  readonly json: boolean
}

/** The options of `squall attach`. */
export interface AttachRequest extends DetachRequest {
  readonly file: string
  readonly forMs: number
  readonly port: string | undefined
  readonly image: string
  readonly pullPolicy: string | undefined
  /** Undefined where production is allowed. */
  readonly production: ProductionCheck | undefined
  readonly environment: string | undefined
  readonly environmentLabel: string
}

const PORT = /^(?:\d{1,5}|[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?)$/
const POLICIES = ['Always', 'IfNotPresent', 'Never'] as const
const TIMEOUT = { min: 1_000, max: 600_000 }

/** Checks what `squall attach` was given. Throws nothing but a `UsageError`. */
export function parseAttach(
  raw: RawFlags,
  env: Environment,
  operands: readonly string[],
): AttachRequest {
  const flags = new FlagValues<AttachFlag>(ATTACH_FLAGS, raw, env)
  const file = flags.optional('filename')
  if (file === undefined) {
    const fix = 'name one with -f, or - for standard input'
    throw new UsageError('MISSING_VALUE', 'no rules file', fix)
  }
  const port = flags.optional('port')
  if (port !== undefined && !PORT.test(port.text)) {
    const fix = 'write its number, or its name as the pod declares it'
    throw new UsageError('BAD_VALUE', `${port.source}: it is no port`, fix)
  }
  const policy = flags.optional('image-pull-policy')
  const duration = flags.required('for')
  return {
    ...podOf(operands, flags, env),
    file: file.text,
    forMs: parseDuration(duration.text, duration.source, ATTACHED_FOR),
    port: port?.text,
    image: flags.optional('image')?.text ?? `squall:${readVersion()}`,
    pullPolicy: policy && parseChoice(policy.text, policy.source, POLICIES),
    production: parseProduction(flags, env),
    environment: flags.optional('environment')?.text,
    environmentLabel: flags.required('environment-label').text,
  }
}

/** Checks what `squall detach` was given. Throws nothing but a `UsageError`. */
export function parseDetach(
  raw: RawFlags,
  env: Environment,
  operands: readonly string[],
): DetachRequest {
  return podOf(operands, new FlagValues<DetachFlag>(DETACH_FLAGS, raw, env), env)
}

function podOf(
  [pod]: readonly string[],
  flags: FlagValues<DetachFlag>,
  env: Environment,
): DetachRequest {
  if (pod === undefined) {
    throw new UsageError('MISSING_VALUE', 'no pod', 'name one: kubectl get pods')
  }
  const named: Given = { text: pod.replace(/^pods?\//, ''), source: 'the pod' }
  const timeout = flags.required('timeout')
  return {
    pod: objectName(named),
    cluster: parseCluster(flags as FlagValues<never>, env),
    timeoutMs: parseDuration(timeout.text, timeout.source, TIMEOUT),
    json: flags.switch('json'),
  }
}
