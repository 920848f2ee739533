import type { InjectorSettings } from './injector-settings.ts'
import type { Pod } from './pod-types.ts'

/** Selects how traffic gets into the sidecar. */
export type Mode = 'redirect' | 'port' | 'bind'

/** Facts about the place where a pod will run. */
export interface InjectionContext {
  readonly namespace: NamespaceFacts
  /** The Services of the namespace; undefined when they cannot be read. */
  readonly services?: readonly ServicePorts[] | undefined
  /** Kubernetes 1.`minor`; undefined when that is not known. */
  readonly cluster?: { readonly minor: number } | undefined
  readonly settings: InjectorSettings
  /** The kind that makes the pod: `Pod`, `ReplicaSet`, `Deployment`, `Job` … */
  readonly owner: string
  /** Its name, where a manifest says it; otherwise the pod names its owner. */
  readonly workload?: string | undefined
}

/** The parts of a namespace that count. Its annotations give defaults. */
export interface NamespaceFacts {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** False when the namespace could not be read, so that nothing is known of it. */
  readonly isKnown?: boolean | undefined
}

/** The parts of a Service that count. */
export interface ServicePorts {
  readonly name: string
  readonly selector: Readonly<Record<string, string>>
  /** Without an address of its own: clients are given those of the pods. */
  readonly isHeadless?: boolean | undefined
  readonly ports: readonly {
    readonly name?: string | undefined
    readonly port: number
    readonly targetPort?: number | string | undefined
    /** TCP when there is none. */
    readonly protocol?: string | undefined
  }[]
}

/** The result for a pod. `reason` is one stable word in snake_case, for metrics. */
export type Injection =
  | {
      readonly kind: 'injected'
      readonly pod: Pod
      readonly mode: Mode
      /** Why this mode. */
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
      /** It was asked for and cannot be; `message` says what to do. */
      readonly kind: 'refused'
      readonly reason: RefusedReason
      readonly message: string
    }

/** Why nothing was to be done. */
export type UntouchedReason =
  'not_requested' | 'opted_out' | 'namespace_disabled' | 'mirror_pod' | 'windows' | 'production'

/** Why it cannot be done. */
export type RefusedReason =
  | 'bad_pod'
  | 'bad_status'
  | 'unknown_key'
  | 'bad_value'
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
