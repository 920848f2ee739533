import type { Mode } from './injection.ts'
import type { InjectorSettings, SidecarResources } from './injector-settings.ts'
import type { AppProbe } from './rewrite-probes.ts'
import type { TakenPort } from './taken-ports.ts'
import type { TlsPlan } from './upstream-tls.ts'
import type { InjectionOptions } from './injection-options.ts'

/** Everything that was decided about a pod, for building its containers. */
export interface Plan {
  readonly mode: Mode
  readonly ports: readonly TakenPort[]
  readonly native: boolean
  readonly options: InjectionOptions
  readonly settings: InjectorSettings
  readonly image: string
  readonly resources: SidecarResources
  readonly tls: TlsPlan
  /** Where this is; undefined when nobody said. */
  readonly environment: string | undefined
  /** Faults may act even in production. */
  readonly isProductionAllowed: boolean
  /** Seconds from the end of a pod's life being announced to its being killed. */
  readonly graceSeconds: number
  readonly probes: Readonly<Record<string, AppProbe>>
  /** Name of what makes the pod, where it is known. */
  readonly workload: string | undefined
}
