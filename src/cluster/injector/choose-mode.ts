import { quoted } from '../../base/text/foreign-text.ts'
import type { InjectionContext, Mode } from './injection.ts'
import { meshOf } from './mesh.ts'
import type { Pod } from './pod-types.ts'
import { Denial } from './denial.ts'
import type { TakenPort } from './taken-ports.ts'
import { POD_IP } from './upstream-host.ts'
import type { InjectionOptions } from './injection-options.ts'

/** The chosen mode, with the reason. */
export interface ChosenMode {
  readonly mode: Mode
  readonly why: string
}

const ENFORCE = 'pod-security.kubernetes.io/enforce'

/** The mode that was asked for, when it can work here, or the one that does. */
export function chooseMode(
  pod: Pod,
  options: InjectionOptions,
  ports: readonly TakenPort[],
  context: InjectionContext,
): ChosenMode {
  const { prefix } = context.settings
  if (pod.spec?.hostNetwork === true) {
    throw new Denial(
      'host_network',
      'the pod uses the network of its node (hostNetwork), where a sidecar would take the traffic of others',
      'run it without hostNetwork, or without the sidecar',
    )
  }
  const wanted = options.get('mode') ?? 'auto'
  const against = againstRedirect(pod, context)
  if (wanted === 'redirect') {
    if (against !== undefined) {
      const fix = `${against.fix}, or use ${prefix}mode: port`
      throw new Denial(against.reason, `redirect cannot be used: ${against.why}`, fix)
    }
    return { mode: 'redirect', why: 'asked for' }
  }
  if (wanted === 'bind') {
    refuseOwnAddress(options, prefix)
    return { mode: 'bind', why: 'asked for' }
  }
  if (wanted === 'auto' && against === undefined) {
    return { mode: 'redirect', why: 'auto: nothing stands against it' }
  }
  const why = wanted === 'port' ? 'asked for' : `auto: ${against?.why ?? ''}`
  refuseUnnamed(ports, why, prefix)
  return { mode: 'port', why }
}

interface Obstacle {
  readonly reason: 'pod_security' | 'mesh'
  readonly why: string
  readonly fix: string
}

function againstRedirect(pod: Pod, context: InjectionContext): Obstacle | undefined {
  const level = context.namespace.labels[ENFORCE]
  if (level !== undefined && level !== '' && level !== 'privileged') {
    const why = `the namespace enforces the Pod Security level ${quoted(level)}, which forbids NET_ADMIN`
    return { reason: 'pod_security', why, fix: `use a namespace with ${ENFORCE}=privileged` }
  }
  const mesh = meshOf(pod, context)
  if (mesh === undefined) return undefined
  const why = `${mesh}, which redirects the same traffic`
  return { reason: 'mesh', why, fix: 'take the pod out of the mesh' }
}

/** There the sidecar itself listens in this mode. */
function refuseOwnAddress(options: InjectionOptions, prefix: string): void {
  if (options.get('upstream-host') !== POD_IP) return
  throw new Denial(
    'upstream_host',
    `in mode bind the sidecar listens on the address of the pod, so that ${prefix}upstream-host cannot be ${POD_IP}`,
    'let the app listen on 127.0.0.1, and leave it out',
  )
}

/** Services follow a name, so that there must be one. */
function refuseUnnamed(ports: readonly TakenPort[], why: string, prefix: string): void {
  const unnamed = ports.find(({ name }) => name === undefined)
  if (unnamed === undefined) return
  throw new Denial(
    'unnamed_port',
    `mode port (${why}) takes ports over by their name, and ${unnamed.number} has none`,
    `give the containerPort ${unnamed.number} a name, such as mcp, and let the targetPort of its Service be that name; or let the app listen on 127.0.0.1 alone, with ${prefix}mode: bind`,
  )
}
