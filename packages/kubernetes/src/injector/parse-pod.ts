import { isRecord, quoted } from '#base'
import type { Pod } from './pod-types.ts'

/** Returns the error of a value; undefined for a valid value. */
type Shape = (value: unknown, path: string) => string | undefined

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

const TEXT = typed('text', (value) => typeof value === 'string')
const NUMBER = typed('an integer', (value) => Number.isSafeInteger(value))
const SWITCH = typed('true or false', (value) => typeof value === 'boolean')
const PORT = typed('a port', (value) => Number.isInteger(value) && isPort(value as number))
const PORT_REF = typed('a port or its name', (value) =>
  typeof value === 'string' ? value !== '' : Number.isInteger(value) && isPort(value as number),
)
const TEXTS = map(TEXT)
const ANY_LIST = list(() => undefined, 100_000)

const ACTIONS = {
  httpGet: optional(
    object({
      port: PORT_REF,
      path: optional(TEXT),
      host: optional(TEXT),
      scheme: optional(TEXT),
      httpHeaders: optional(list(object({ name: TEXT, value: optional(TEXT) }), MOST_PORTS)),
    }),
  ),
  tcpSocket: optional(object({ port: PORT_REF, host: optional(TEXT) })),
  grpc: optional(object({ port: PORT, service: optional(TEXT) })),
}
const PROBE = optional(object({ ...ACTIONS, timeoutSeconds: optional(NUMBER) }))
const HOOK = optional(object(ACTIONS))

const AMOUNT = typed(
  'a quantity',
  (value) => typeof value === 'string' || typeof value === 'number',
)
const RESOURCES = optional(
  object({ requests: optional(map(AMOUNT)), limits: optional(map(AMOUNT)) }),
)
const OWNER = object({
  kind: optional(TEXT),
  name: optional(TEXT),
  controller: optional(SWITCH),
})

const CONTAINER = object({
  name: TEXT,
  resources: RESOURCES,
  ports: optional(
    list(
      object({
        containerPort: PORT,
        name: optional(TEXT),
        protocol: optional(TEXT),
        hostPort: optional(NUMBER),
      }),
      MOST_PORTS,
    ),
  ),
  env: optional(list(object({ name: TEXT, value: optional(TEXT) }), 100_000)),
  command: optional(list(TEXT, 100_000)),
  args: optional(list(TEXT, 100_000)),
  restartPolicy: optional(TEXT),
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  startupProbe: PROBE,
  lifecycle: optional(object({ postStart: HOOK, preStop: HOOK })),
  volumeMounts: optional(ANY_LIST),
})
const CONTAINERS = list(CONTAINER, MOST_CONTAINERS)

const POD: Shape = object({
  metadata: optional(
    object({
      name: optional(TEXT),
      generateName: optional(TEXT),
      labels: optional(TEXTS),
      annotations: optional(TEXTS),
      ownerReferences: optional(list(OWNER, MOST_OWNERS)),
    }),
  ),
  spec: object({
    containers: CONTAINERS,
    initContainers: optional(CONTAINERS),
    volumes: optional(list(object({ name: TEXT }), 4096)),
    resources: RESOURCES,
    hostNetwork: optional(SWITCH),
    restartPolicy: optional(TEXT),
    terminationGracePeriodSeconds: optional(NUMBER),
    nodeSelector: optional(TEXTS),
    os: optional(object({ name: optional(TEXT) })),
  }),
})

function typed(what: string, test: (value: unknown) => boolean): Shape {
  return (value, path) => (test(value) ? undefined : wrong(path, what))
}

/** Accepts null as well, which Kubernetes treats as absent. */
function optional(shape: Shape): Shape {
  return (value, path) => (value === undefined || value === null ? undefined : shape(value, path))
}

function object(shapes: Readonly<Record<string, Shape>>): Shape {
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

function map(shape: Shape): Shape {
  return (value, path) => {
    if (!isRecord(value)) return wrong(path, 'an object')
    for (const [key, each] of Object.entries(value)) {
      const message = shape(each, below(path, quoted(key)))
      if (message !== undefined) return message
    }
    return undefined
  }
}

function list(shape: Shape, most: number): Shape {
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
