import { PRODUCTION_NAMES } from '#rules'
import { RULES_DIRECTORY } from './injected-names.ts'
import { POD_IP, isLoopback } from './value-checks.ts'
import type { Mode } from './injection.ts'
import type { OutboundPort } from './outbound.ts'
import type { AppProbe } from './rewrite-probes.ts'
import type { InjectorSettings } from './settings-schema.ts'
import type { SidecarResources } from './sidecar-resources.ts'
import type { TakenPort } from './taken-ports.ts'
import type { TlsPlan } from './upstream-tls.ts'
import type { InjectionOptions } from './injection-options.ts'

const WAIT_SHARE = 2 / 3
/** For starting the hook, and for the program to end. */
const SPARE = 2
const MOST_DRAIN = 30

/**
 * Divides the grace period, so that the sidecar ends before it is killed: the hook waits `stopWait`
 * for the upstream to end, then the sidecar waits `drain` for in-flight exchanges.
 */
export function shutdownTimes(graceSeconds: number) {
  const stopWait = Math.floor(graceSeconds * WAIT_SHARE)
  const drain = Math.max(0, Math.min(MOST_DRAIN, graceSeconds - stopWait - SPARE))
  return { stopWait: Math.min(stopWait, 3600), drain }
}

/** Annotations that are flags of `squall run` by the same name. */
const PASSED_ON = [
  'max-percent',
  'max-duration',
  'max-active',
  'allow-faults',
  'deny-tools',
  'guard-error-rate',
  'guard-window',
  'rollback-on',
  'exclude-paths',
  'metrics-detail',
  'log-level',
  'log-injections',
  'call-log',
  'compat-api',
  'trace-url',
] as const

/** Returns a value in which Kubernetes replaces no `$(NAME)`. */
export function literal(text: string): string {
  return text.replaceAll('$', '$$$$')
}

export function sidecarArgs(plan: Plan): readonly string[] {
  const { mode, ports, options, environment, settings, tls } = plan
  // Where the upstream listens on the address of the pod, SQUALL_UPSTREAM_HOST replaces this host.
  const host = upstreamHost(plan) ?? '127.0.0.1'
  const args = ports.flatMap(({ number, listen }) => [
    '--listen',
    // Brackets suit addresses of both families.
    mode === 'bind' ? `[$(POD_IP)]:${number}` : `[::]:${listen}`,
    '--upstream',
    `${tls.scheme}://${host.includes(':') ? `[${host}]` : host}:${number}`,
  ])
  for (const { listen, targets } of plan.outbound) {
    args.push(...targets.flatMap((target) => ['--captured', `${listen}=${target}`]))
  }
  args.push(...tls.args, '--rules', RULES_DIRECTORY)
  // The sidecar starts before the upstream, whose own probes report its readiness.
  args.push('--ready-without-upstream')
  args.push('--drain-timeout', `${shutdownTimes(plan.graceSeconds).drain}s`)
  if (environment !== undefined) args.push('--environment', environment)
  // Production is passed by --environment; the names matter for all other pods.
  const names = settings.productionEnvironments.join(',')
  if (environment !== 'production' && names !== PRODUCTION_NAMES.join(',') && names !== '') {
    args.push('--production-names', names)
  }
  if (plan.isProductionAllowed) args.push('--allow-production')
  for (const key of PASSED_ON) {
    const value = options.get(key)
    if (value !== undefined) args.push(`--${key}`, literal(value))
  }
  if (options.get('tasks') === 'false') args.push('--tasks=false')
  if (options.get('trust-markers') === 'true') args.push('--trust-markers')
  if (options.get('trace-injected') === 'true') args.push('--trace-injected')
  return ['run', ...args]
}

/** Returns the host of the upstream; undefined for the address of the pod. */
export function upstreamHost({
  mode,
  options,
}: Pick<Plan, 'mode' | 'options'>): string | undefined {
  const wanted = options.get('upstream-host') ?? (mode === 'redirect' ? POD_IP : '127.0.0.1')
  return wanted === POD_IP ? undefined : wanted
}

/** True when the sidecar reaches the upstream by loopback. */
export function reachesByLoopback(plan: Pick<Plan, 'mode' | 'options'>): boolean {
  const host = upstreamHost(plan)
  return host !== undefined && isLoopback(host)
}

/** The decisions about a pod, from which its containers are built. */
export interface Plan {
  readonly mode: Mode
  readonly ports: readonly TakenPort[]
  readonly outbound: readonly OutboundPort[]
  readonly native: boolean
  readonly options: InjectionOptions
  readonly settings: InjectorSettings
  readonly image: string
  readonly resources: SidecarResources
  readonly tls: TlsPlan
  readonly environment: string | undefined
  /** Faults may act even in production. */
  readonly isProductionAllowed: boolean
  /** Seconds from the termination signal to the kill. */
  readonly graceSeconds: number
  readonly probes: Readonly<Record<string, AppProbe>>
  readonly workload: string | undefined
  /** The reason why the sidecar takes no temporary faults. */
  readonly temporaryDenial: string | undefined
}
