import type { ServicePorts } from './check-services.ts'
import type { Pod } from './pod.ts'
import type { InjectorSettings } from './settings-schema.ts'

/** Selects how traffic gets into the sidecar. */
export type Mode = 'redirect' | 'port' | 'bind'

/** Facts about the place where a pod will run. */
export interface InjectionContext {
  readonly namespace: NamespaceFacts
  /** The Services of the namespace; undefined when they cannot be read. */
  readonly services?: readonly ServicePorts[] | undefined
  /** The Services whose pods all have a sidecar, as `name.namespace:port`, as far as known. */
  readonly injectedServices?: ReadonlySet<string> | undefined
  /** Kubernetes 1.`minor`; undefined when that is not known. */
  readonly minor?: number | undefined
  readonly settings: InjectorSettings
  /** The kind that makes the pod: `Pod`, `ReplicaSet`, `Deployment`, `Job` … */
  readonly owner: string
  /** The name of the workload in a manifest; otherwise the pod names its owner. */
  readonly workload?: string | undefined
  /** The reason why the sidecar takes no temporary faults, by the budget of the cluster. */
  readonly temporaryDenial?: string | undefined
}

/** The parts of a namespace that count. Its annotations give defaults. */
export interface NamespaceFacts {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** False when the namespace could not be read. */
  readonly isKnown?: boolean | undefined
}

/** The result for a pod. `reason` is one stable word in snake_case, for metrics. */
export type Injection =
  | {
      readonly kind: 'injected'
      readonly pod: Pod
      readonly mode: Mode
      readonly why: string
      readonly warnings: readonly string[]
    }
  | {
      /** Nothing to do; `message` says why. */
      readonly kind: 'untouched'
      readonly reason: UntouchedReason
      readonly message: string
    }
  | {
      /** Injection was requested and is impossible; `message` says what to do. */
      readonly kind: 'denied'
      readonly reason: DenialReason
      readonly message: string
    }

export type UntouchedReason =
  'not_requested' | 'opted_out' | 'namespace_disabled' | 'mirror_pod' | 'windows' | 'production'

type DenialReason =
  | 'invalid_pod'
  | 'invalid_status'
  | 'unknown_key'
  | 'invalid_value'
  | 'above_ceiling'
  | 'excluded_namespace'
  | 'production'
  | 'host_network'
  | 'no_port'
  | 'many_ports'
  | 'unknown_port'
  | 'unknown_container'
  | 'udp_port'
  | 'unnamed_port'
  | 'reserved_port'
  | 'name_taken'
  | 'pod_security'
  | 'mesh'
  | 'upstream_host'
  | 'upstream_tls'
  | 'image'
  | 'resources'
  | 'native_sidecar'
  | 'job'
  | 'too_large'

/** Reports that a pod cannot be injected; `injectPod` turns it into a result. */
export class Denial extends Error {
  override readonly name = 'Denial'
  readonly reason: DenialReason

  constructor(reason: DenialReason, wrong: string, fix: string) {
    super(`${wrong}: ${fix}`)
    this.reason = reason
  }
}
