import { PRODUCTION_NAMES } from '../../rules/guard/production-names.ts'
import { RULES_DIRECTORY } from './injected-names.ts'
import type { Plan } from './plan.ts'
import { shutdownTimes } from './shutdown-times.ts'
import { isLoopback, POD_IP } from './upstream-host.ts'

/** Annotations that are flags of `squall run` by the same name. */
const PASSED_ON = [
  'max-percent',
  'max-duration',
  'guard-error-rate',
  'guard-window',
  'exclude-paths',
  'log-level',
] as const

/** Returns the sidecar's command-line arguments. */
export function sidecarArgs(plan: Plan): readonly string[] {
  const { mode, ports, options, environment, settings, tls } = plan
  // The address of the pod takes the place of this one, where that is where the app is.
  const host = upstreamHost(plan) ?? '127.0.0.1'
  const args = ports.flatMap(({ number, listen }) => [
    '--listen',
    // Brackets suit addresses of both families.
    mode === 'bind' ? `[$(POD_IP)]:${number}` : `[::]:${listen}`,
    '--upstream',
    `${tls.scheme}://${host.includes(':') ? `[${host}]` : host}:${number}`,
  ])
  args.push(...tls.args, '--rules', RULES_DIRECTORY)
  // The sidecar starts before the app; whether the app is ready its own probes tell.
  args.push('--ready-without-upstream')
  args.push('--drain-timeout', `${shutdownTimes(plan.graceSeconds).drain}s`)
  if (environment !== undefined) args.push('--environment', environment)
  // Namespaces that the injector takes for production say so; all others keep their names.
  const names = settings.productionEnvironments.join(',')
  if (environment !== 'production' && names !== PRODUCTION_NAMES.join(',') && names !== '') {
    args.push('--production-names', names)
  }
  if (plan.isProductionAllowed) args.push('--allow-production')
  for (const key of PASSED_ON) {
    const value = options.get(key)
    if (value !== undefined) args.push(`--${key}`, value)
  }
  return ['run', ...args]
}

/** Where the app listens; undefined for the address of the pod. */
export function upstreamHost({
  mode,
  options,
}: Pick<Plan, 'mode' | 'options'>): string | undefined {
  const wanted = options.get('upstream-host') ?? (mode === 'redirect' ? POD_IP : '127.0.0.1')
  return wanted === POD_IP ? undefined : wanted
}

/** True when the sidecar reaches the app by loopback. */
export function reachesByLoopback(plan: Pick<Plan, 'mode' | 'options'>): boolean {
  const host = upstreamHost(plan)
  return host !== undefined && isLoopback(host)
}
