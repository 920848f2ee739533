import { Denial, type InjectionContext, type Mode } from './injection.ts'
import type { Pod } from './pod-types.ts'
import type { InjectionOptions } from './injection-options.ts'

/** The first version with native sidecars by default. */
const FIRST = 29
/** The first version in which Services find ports of native sidecars by name. */
const STABLE = 33
const JOBS: readonly string[] = ['Job', 'CronJob']

/** Decides between a native sidecar and a plain container; returns warnings about it. */
export function chooseLifecycle(
  pod: Pod,
  options: InjectionOptions,
  mode: Mode,
  { cluster, owner, settings }: InjectionContext,
) {
  const key = `${settings.prefix}native-sidecar`
  const wanted = options.get('native-sidecar')
  if (wanted === 'true' && cluster !== undefined && cluster.minor < FIRST) {
    throw new Denial(
      'native_sidecar',
      `Kubernetes 1.${cluster.minor} has no native sidecars: the pod would never start`,
      `remove ${key}, or use 1.${FIRST} or newer`,
    )
  }
  const warnings: string[] = []
  let native = wanted === undefined ? (cluster?.minor ?? 0) >= STABLE : wanted === 'true'
  if (native && mode === 'port' && cluster !== undefined && cluster.minor < STABLE) {
    native = false
    warnings.push(
      `a plain container is used: Services of Kubernetes 1.${cluster.minor} do not find ports of native sidecars by name`,
    )
  }
  if (native) return { native, warnings }
  if (JOBS.includes(owner)) {
    throw new Denial(
      'job',
      'a job would never end beside a plain container',
      `use a native sidecar: ${key}: "true" from Kubernetes 1.${FIRST} on, in mode port from 1.${STABLE} on`,
    )
  }
  const { restartPolicy = 'Always' } = pod.spec ?? {}
  if (restartPolicy !== 'Always') {
    warnings.push(
      `the pod never ends by itself with a plain container, despite restartPolicy ${restartPolicy}; use ${key}: "true" from Kubernetes 1.${FIRST} on`,
    )
  }
  return { native, warnings }
}
