/*
 * The fields of a pod that injection reads or writes. All other fields are copied unchanged, so these types
 * are not complete. What is only written is an object: tests check it by the schemas of Kubernetes.
 */

export interface Pod {
  readonly metadata?: ObjectMeta | null
  readonly spec?: PodSpec | null
}

export interface ObjectMeta {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>> | null
  readonly annotations?: Readonly<Record<string, string>> | null
  readonly ownerReferences?:
    | readonly { readonly kind?: string; readonly name?: string; readonly controller?: boolean }[]
    | null
}

export interface PodSpec {
  readonly containers?: readonly Container[] | null
  readonly initContainers?: readonly Container[] | null
  readonly volumes?: readonly Volume[] | null
  readonly hostNetwork?: boolean
  readonly restartPolicy?: string
  readonly terminationGracePeriodSeconds?: number | null
  readonly nodeSelector?: Readonly<Record<string, string>> | null
  /** Shared by all containers. */
  readonly resources?: Resources | null
  readonly os?: { readonly name?: string } | null
}

/** Returns the containers of a pod, and its init containers. */
export function allContainers({ spec }: Pod): readonly Container[] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
}

/** Returns the containers that run with the pod: native sidecars too, not what ends before. */
export function runningContainers({ spec }: Pod): readonly Container[] {
  const native = (spec?.initContainers ?? []).filter((each) => each.restartPolicy === 'Always')
  return [...(spec?.containers ?? []), ...native]
}

export interface Container {
  readonly name: string
  readonly image?: string
  readonly imagePullPolicy?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly EnvVar[] | null
  readonly ports?: readonly ContainerPort[] | null
  /** `Always` makes a native sidecar of an init container. */
  readonly restartPolicy?: string
  readonly livenessProbe?: Probe | null
  readonly readinessProbe?: Probe | null
  readonly startupProbe?: Probe | null
  readonly lifecycle?: {
    readonly postStart?: Handler | null
    readonly preStop?: Handler | null
  } | null
  readonly resources?: Resources | null
  readonly securityContext?: object
  readonly terminationMessagePolicy?: string
  readonly volumeMounts?: readonly VolumeMount[] | null
}

export interface ContainerPort {
  readonly name?: string
  readonly containerPort: number
  readonly hostPort?: number
  /** TCP when there is none. */
  readonly protocol?: string
}

/** The action of a probe or hook. At most one of the fields is set. */
export interface Handler {
  readonly httpGet?: HttpGetAction | null
  /** Passes when the connection is accepted. */
  readonly tcpSocket?: { readonly port: number | string; readonly host?: string } | null
  /** A call of the gRPC health service. */
  readonly grpc?: { readonly port: number; readonly service?: string | null } | null
  readonly exec?: { readonly command?: readonly string[] } | null
}

export interface Probe extends Handler {
  readonly initialDelaySeconds?: number
  readonly timeoutSeconds?: number
  readonly periodSeconds?: number
  readonly successThreshold?: number
  readonly failureThreshold?: number
}

/** An HTTP request that passes with a status from 200 to 399. */
export interface HttpGetAction {
  readonly path?: string
  readonly port: number | string
  readonly host?: string
  readonly scheme?: string
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[] | null
}

/** A variable: its value, or its source. */
export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: object
}

/** A volume of the pod; injection reads the name alone. */
export interface Volume {
  readonly name: string
  readonly configMap?: object
  readonly secret?: object
  readonly downwardAPI?: object
  readonly emptyDir?: object
}

export interface VolumeMount {
  readonly name: string
  readonly mountPath: string
  readonly readOnly?: boolean
}

/** Amounts by resource; manifests may write integers as numbers. */
export type Quantities = Readonly<Record<string, string | number>>

export interface Resources {
  readonly requests?: Quantities | null
  readonly limits?: Quantities | null
}
