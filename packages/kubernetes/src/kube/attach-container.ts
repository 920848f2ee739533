import { type Fields, fieldsOf, listOf, textOf } from '#base'
import { HANDLER_FIELDS } from '../injector/handler-fields.ts'
import { PREFIX, REDIRECT, SIDECAR } from '../injector/injected-names.ts'
import { isMesh } from '../injector/mesh.ts'
import {
  allContainers,
  type Container,
  type EnvVar,
  type Handler,
  type Pod,
} from '../injector/pod.ts'
import { portNumber } from '../injector/rewrite-probes.ts'
import { isWindows } from '../injector/gatekeeper.ts'
import { literal } from '../injector/sidecar-args.ts'
import { fromPod } from '../injector/sidecar-container.ts'
import { heapOption } from '../injector/sidecar-resources.ts'
import { type TakenPort, takenPorts } from '../injector/taken-ports.ts'
import { findHttps } from '../injector/upstream-tls.ts'
import { KubeError } from './kube-error.ts'
import { metadataOf } from './resources.ts'

/** Begins the names of containers that `squall attach` adds. */
export const ATTACHED = `${SIDECAR}-attach-`
/** Begins the names of containers that end an attached sidecar. */
const DETACH = `${SIDECAR}-detach-`
export const ATTACHED_ADMIN_PORT = 15390
const FIRST_LISTEN_PORT = 15300

/** Configures the sidecar that is attached. */
export interface Attachment {
  readonly image: string
  readonly pullPolicy: string | undefined
  /** The port to take over, by number or name; undefined for the only one. */
  readonly port: string | undefined
  readonly rulesText: string
  readonly forMs: number
  /** An image that is pulled after this time starts nothing. */
  readonly startBefore: Date
  /** Throws for a pod that declares production, unless that is allowed. */
  readonly rejectProduction: (pod: Pod) => void
  /** Further settings of `squall run`, by variable. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Makes the container for a pod, or throws a `KubeError` with the reason why not. Returns also the
 * ports that it takes over, and the paths of probes, where no rule acts.
 */
export function attachContainer(pod: Fields, attachment: Attachment) {
  checkPod(pod)
  const typed = pod as Pod
  attachment.rejectProduction(typed)
  const ports = portsOf(typed, attachment.port)
  rejectTls(typed, ports)
  const probePaths = probedPaths(typed, ports)
  const name = nextName(pod, ATTACHED)
  const { image, pullPolicy, forMs, startBefore } = attachment
  const args = ports.flatMap(({ number, listen }) => ['--port', `${number}=${listen}`])
  args.push('--admin', `[::]:${ATTACHED_ADMIN_PORT}`)
  args.push('--for', `${forMs}ms`, '--start-before', startBefore.toISOString())
  const container = {
    ...redirectContainer(name, image, pullPolicy, ['attached', ...args]),
    env: envOf(attachment, probePaths),
  }
  return { name, container, ports, probePaths }
}

/** Makes the container that ends the redirect of an attached sidecar. */
export function detachContainer(pod: Fields, attached: Fields) {
  const name = nextName(pod, DETACH)
  const image = textOf(attached['image']) ?? ''
  const pullPolicy = textOf(attached['imagePullPolicy'])
  const container = redirectContainer(name, image, pullPolicy, ['redirect', '--release'])
  return { name, container }
}

/** Returns the containers of attached sidecars that have not ended. */
export function attachedContainers(pod: Fields): readonly Fields[] {
  return ephemeral(pod).filter(
    ({ name }) =>
      textOf(name)?.startsWith(ATTACHED) === true && !('terminated' in ephemeralState(pod, name)),
  )
}

/** Returns the state of an ephemeral container, as its status has it. */
export function ephemeralState(pod: Fields, name: unknown): Fields {
  const statuses = listOf(fieldsOf(pod['status'])['ephemeralContainerStatuses'])
  return fieldsOf(statuses.find((each) => each['name'] === name)?.['state'])
}

function redirectContainer(
  name: string,
  image: string,
  imagePullPolicy: string | undefined,
  args: readonly string[],
): Fields {
  return {
    name,
    image,
    ...(imagePullPolicy !== undefined && { imagePullPolicy }),
    args,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: {
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      allowPrivilegeEscalation: false,
      // To redirect, to start the sidecar as a user without capabilities, and to stop it.
      capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'SETUID', 'SETGID', 'KILL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  }
}

function envOf({ rulesText, env }: Attachment, probePaths: readonly string[]): readonly EnvVar[] {
  const values = {
    ...env,
    ...(probePaths.length > 0 && { SQUALL_EXCLUDE_PATHS: probePaths.join(',') }),
    SQUALL_RULES_TEXT: rulesText,
    // Ephemeral containers have no limits: the heap is as large as with the default limit.
    NODE_OPTIONS: heapOption('256Mi'),
  }
  return [
    fromPod('SQUALL_POD', 'metadata.name'),
    fromPod('POD_NAMESPACE', 'metadata.namespace'),
    fromPod('SQUALL_UPSTREAM_HOST', 'status.podIP'),
    ...Object.entries(values).map(([name, value]) => ({ name, value: literal(value) })),
  ]
}

function checkPod(pod: Fields): void {
  const { annotations, isTerminating } = metadataOf(pod)
  const spec = fieldsOf(pod['spec'])
  const names = [...listOf(spec['containers']), ...listOf(spec['initContainers'])].map(
    (each) => textOf(each['name']) ?? '',
  )
  const phase = textOf(fieldsOf(pod['status'])['phase'])
  if (isTerminating || phase !== 'Running') {
    const how = isTerminating ? 'being deleted' : String(phase)
    throw attachError(`the pod is ${how}`, 'attach to a running pod')
  }
  if (names.includes(SIDECAR) || names.includes(REDIRECT)) {
    throw attachError('the pod already has a sidecar', 'apply rules to it: squall apply')
  }
  if (attachedContainers(pod).length > 0) {
    throw attachError('a sidecar is already attached', 'detach it first: squall attach --undo')
  }
  if (spec['hostNetwork'] === true) {
    const wrong = 'the pod uses the host network (hostNetwork)'
    throw attachError(wrong, 'the redirect would affect other pods; choose another pod')
  }
  const mesh = names.find(isMesh)
  if (mesh !== undefined) {
    const wrong = `the container ${mesh} of a service mesh redirects the same traffic`
    throw attachError(wrong, 'inject the sidecar in mode port: squall.dev/mode: port')
  }
  if (isWindows(pod)) {
    throw attachError('the pod runs on Windows', 'the redirect requires Linux')
  }
  if (annotations['kubernetes.io/config.mirror'] !== undefined) {
    throw attachError(
      'the pod is a static pod of its node',
      'the API server cannot change such a pod',
    )
  }
}

/** Rejects a port with TLS, which the sidecar could not read. */
function rejectTls(pod: Pod, ports: readonly TakenPort[]): void {
  const found = findHttps(pod, ports)
  if (found === undefined) return
  const wrong = `your MCP server serves TLS: ${found.key} uses port ${found.port} with scheme HTTPS`
  throw attachError(wrong, 'inject the sidecar with squall.dev/upstream-tls instead')
}

function portsOf(pod: Pod, port: string | undefined): readonly TakenPort[] {
  try {
    return takenPorts(pod, new Map(port === undefined ? [] : [['ports', port]]), {
      prefix: PREFIX,
      adminPort: ATTACHED_ADMIN_PORT,
      firstListenPort: FIRST_LISTEN_PORT,
    })
  } catch (error) {
    throw attachError((error as Error).message, 'here with --port, such as --port 3000')
  }
}

/** Returns the paths of probes at the ports: faults there would restart the container. */
function probedPaths(pod: Pod, ports: readonly TakenPort[]): readonly string[] {
  const paths = allContainers(pod).flatMap((container) =>
    HANDLER_FIELDS.flatMap((field) => {
      const handler = field.read(container) ?? {}
      const action = handler.httpGet ?? handler.grpc
      const port = action && portNumber(action.port, container)
      return ports.some(({ number }) => number === port) ? [pathOf(handler, container)] : []
    }),
  )
  return [...new Set(paths)]
}

function pathOf({ httpGet }: Handler, { name }: Container): string {
  if (!httpGet) {
    const wrong = `a probe of the container ${name} uses gRPC on the port`
    throw attachError(wrong, 'use an injected sidecar instead, which performs probes itself')
  }
  const path = (httpGet.path ?? '/').replace(/[?#].*$/s, '') || '/'
  if (/^\/[^\s,*[\]{}!?]*$/.test(path)) return path
  const wrong = `a probe of the container ${name} uses a path that cannot be excluded from faults`
  throw attachError(wrong, 'use an injected sidecar instead, which performs probes itself')
}

/** Returns an unused name: ephemeral containers stay in the pod for good. */
function nextName(pod: Fields, prefix: string): string {
  const numbers = ephemeral(pod).map(({ name }) =>
    textOf(name)?.startsWith(prefix) ? Number((name as string).slice(prefix.length)) || 0 : 0,
  )
  return `${prefix}${Math.max(0, ...numbers) + 1}`
}

function ephemeral(pod: Fields): readonly Fields[] {
  return listOf(fieldsOf(pod['spec'])['ephemeralContainers'])
}

function attachError(wrong: string, fix: string): KubeError {
  return new KubeError('invalid', `nothing was attached: ${wrong}; ${fix}`)
}
