import { isRecord, quoted } from '#base'

/** Returns the error of a value; undefined for a valid value, which is a `T`. */
interface Shape<T> {
  (value: unknown, path: string): string | undefined
  readonly type?: T
}

interface Optional<T> extends Shape<T> {
  readonly mayBeMissing: true
}

type TypeOf<S> = S extends Shape<infer T> ? T : never
type MissingIn<S> = { [K in keyof S]: S[K] extends Optional<unknown> ? K : never }[keyof S]
type OrNull<T> = T extends readonly string[] ? T : T extends object ? T | null : T
/** Fields without a value are missing; objects, and lists of them, may also be null. */
type Fields<S> = { readonly [K in Exclude<keyof S, MissingIn<S>>]: TypeOf<S[K]> } & {
  readonly [K in MissingIn<S>]?: OrNull<TypeOf<S[K]>>
}

/** More containers than any node runs for one pod. */
const MOST_CONTAINERS = 256
const MOST_PORTS = 1024
const MOST_OWNERS = 1024

/** Checks the types of the fields that injection reads. The API server checks all other fields. */
export function parsePod(
  value: unknown,
): { readonly ok: true; readonly pod: Pod } | { readonly ok: false; readonly message: string } {
  const message = POD(value, '')
  return message === undefined ? { ok: true, pod: value as Pod } : { ok: false, message }
}

const TEXT = typed<string>('text', (value) => typeof value === 'string')
const NUMBER = typed<number>('an integer', (value) => Number.isSafeInteger(value))
const SWITCH = typed<boolean>('true or false', (value) => typeof value === 'boolean')
const PORT = typed<number>('a port', (value) => Number.isInteger(value) && isPort(value as number))
const PORT_REF = typed<number | string>('a port or its name', (value) =>
  typeof value === 'string' ? value !== '' : Number.isInteger(value) && isPort(value as number),
)
const TEXTS = map(TEXT)
/** Is only written: tests check it by the schemas of Kubernetes. */
const WRITTEN: Optional<object> = optional(() => undefined)
const MOST_ENTRIES = 100_000

const ACTIONS = {
  // Passes with a status from 200 to 399.
  httpGet: optional(
    object({
      port: PORT_REF,
      path: optional(TEXT),
      host: optional(TEXT),
      scheme: optional(TEXT),
      httpHeaders: optional(list(object({ name: TEXT, value: optional(TEXT) }), MOST_PORTS)),
    }),
  ),
  // Passes when the connection is accepted.
  tcpSocket: optional(object({ port: PORT_REF, host: optional(TEXT) })),
  // Calls the gRPC health service.
  grpc: optional(object({ port: PORT, service: optional(TEXT) })),
  exec: optional(object({ command: optional(list(TEXT, MOST_ENTRIES)) })),
}
const PROBE = optional(
  object({
    ...ACTIONS,
    timeoutSeconds: optional(NUMBER),
    periodSeconds: optional(NUMBER),
    failureThreshold: optional(NUMBER),
  }),
)
/** The action of a probe or hook. At most one of the fields is set. */
const HANDLER = object(ACTIONS)
const HOOK = optional(HANDLER)

/** Manifests may write integers as numbers. */
const AMOUNT = typed<string | number>(
  'a quantity',
  (value) => typeof value === 'string' || typeof value === 'number',
)
const RESOURCES = object({ requests: optional(map(AMOUNT)), limits: optional(map(AMOUNT)) })
const OWNER = object({
  kind: optional(TEXT),
  name: optional(TEXT),
  controller: optional(SWITCH),
})

const ENV_VAR = object({ name: TEXT, value: optional(TEXT), valueFrom: WRITTEN })

const VOLUME_MOUNT = object({ name: TEXT, mountPath: TEXT, readOnly: optional(SWITCH) })

const VOLUME = object({
  name: TEXT,
  configMap: WRITTEN,
  secret: WRITTEN,
  downwardAPI: WRITTEN,
  emptyDir: WRITTEN,
})

const CONTAINER = object({
  name: TEXT,
  image: optional(TEXT),
  imagePullPolicy: optional(TEXT),
  resources: optional(RESOURCES),
  ports: optional(
    list(
      object({
        containerPort: PORT,
        name: optional(TEXT),
        // TCP when there is none.
        protocol: optional(TEXT),
        hostPort: optional(NUMBER),
      }),
      MOST_PORTS,
    ),
  ),
  env: optional(list(ENV_VAR, MOST_ENTRIES)),
  command: optional(list(TEXT, MOST_ENTRIES)),
  args: optional(list(TEXT, MOST_ENTRIES)),
  // `Always` makes a native sidecar of an init container.
  restartPolicy: optional(TEXT),
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  startupProbe: PROBE,
  lifecycle: optional(object({ postStart: HOOK, preStop: HOOK })),
  volumeMounts: optional(list(VOLUME_MOUNT, MOST_ENTRIES)),
  terminationMessagePolicy: optional(TEXT),
  securityContext: WRITTEN,
})
const CONTAINERS = list(CONTAINER, MOST_CONTAINERS)

const SPEC = object({
  containers: CONTAINERS,
  initContainers: optional(CONTAINERS),
  volumes: optional(list(VOLUME, 4096)),
  // Shared by all containers.
  resources: optional(RESOURCES),
  hostNetwork: optional(SWITCH),
  restartPolicy: optional(TEXT),
  terminationGracePeriodSeconds: optional(NUMBER),
  nodeSelector: optional(TEXTS),
  os: optional(object({ name: optional(TEXT) })),
})

/** The fields of a pod that injection reads or writes. All other fields are copied unchanged. */
const POD = object({
  metadata: optional(
    object({
      name: optional(TEXT),
      namespace: optional(TEXT),
      generateName: optional(TEXT),
      labels: optional(TEXTS),
      annotations: optional(TEXTS),
      ownerReferences: optional(list(OWNER, MOST_OWNERS)),
    }),
  ),
  spec: SPEC,
})

export interface Pod extends Omit<TypeOf<typeof POD>, 'spec'> {
  readonly spec?: PodSpec | null
}
export type PodSpec = Partial<TypeOf<typeof SPEC>>
export type ObjectMeta = NonNullable<Pod['metadata']>
export type Container = TypeOf<typeof CONTAINER>
export type ContainerPort = NonNullable<Container['ports']>[number]
export type Probe = NonNullable<Container['livenessProbe']>
export type Handler = TypeOf<typeof HANDLER>
export type EnvVar = TypeOf<typeof ENV_VAR>
export type Volume = TypeOf<typeof VOLUME>
export type VolumeMount = TypeOf<typeof VOLUME_MOUNT>
export type Resources = TypeOf<typeof RESOURCES>
export type Quantities = NonNullable<Resources['requests']>

/** Returns the containers of a pod, and its init containers. */
export function allContainers({ spec }: Pod): readonly Container[] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
}

/** Returns the containers that run with the pod: native sidecars too, not what ends before. */
export function runningContainers({ spec }: Pod): readonly Container[] {
  const native = (spec?.initContainers ?? []).filter((each) => each.restartPolicy === 'Always')
  return [...(spec?.containers ?? []), ...native]
}

function typed<T>(what: string, test: (value: unknown) => boolean): Shape<T> {
  return (value, path) => (test(value) ? undefined : wrong(path, what))
}

/** Accepts null as well, which Kubernetes treats as absent. */
function optional<T>(shape: Shape<T>): Optional<T> {
  const check: Shape<T> = (value, path) =>
    value === undefined || value === null ? undefined : shape(value, path)
  return check as Optional<T>
}

function object<S extends Readonly<Record<string, Shape<unknown>>>>(shapes: S): Shape<Fields<S>> {
  const parts = Object.entries(shapes)
  return (value, path) => {
    if (!isRecord(value)) return wrong(path, 'an object')
    for (const [key, shape] of parts) {
      const message = shape(Object.hasOwn(value, key) ? value[key] : undefined, below(path, key))
      if (message !== undefined) return message
    }
    return undefined
  }
}

function map<T>(shape: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return (value, path) => {
    if (!isRecord(value)) return wrong(path, 'an object')
    for (const [key, each] of Object.entries(value)) {
      const message = shape(each, below(path, quoted(key)))
      if (message !== undefined) return message
    }
    return undefined
  }
}

function list<T>(shape: Shape<T>, most: number): Shape<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) return wrong(path, 'a list')
    if (value.length > most) return `${path} has more than ${most} elements`
    for (const [i, each] of value.entries()) {
      const message = shape(each, `${path}[${i}]`)
      if (message !== undefined) return message
    }
    return undefined
  }
}

function wrong(path: string, what: string): string {
  return `${path === '' ? 'the pod' : path} must be ${what}`
}

function below(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

function isPort(value: number): boolean {
  return value >= 1 && value <= 65_535
}
