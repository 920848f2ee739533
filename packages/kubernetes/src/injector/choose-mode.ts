import { quoted } from '#base'
import { Denial, type InjectionContext, type Mode } from './injection.ts'
import { meshOf } from './mesh.ts'
import type { Container, Pod } from './pod-types.ts'
import type { TakenPort } from './taken-ports.ts'
import { POD_IP } from './value-checks.ts'
import type { InjectionOptions } from './injection-options.ts'

const ENFORCE = 'pod-security.kubernetes.io/enforce'

/** Returns the requested mode if it can work, or chooses one. */
export function chooseMode(
  pod: Pod,
  options: InjectionOptions,
  ports: readonly TakenPort[],
  context: InjectionContext,
): { readonly mode: Mode; readonly why: string } {
  const { prefix } = context.settings
  if (pod.spec?.hostNetwork === true) {
    throw new Denial(
      'host_network',
      'the pod uses the network of its node (hostNetwork), where a sidecar would take over the traffic of other pods',
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
    rejectOwnAddress(options, prefix)
    return { mode: 'bind', why: 'asked for' }
  }
  if (wanted === 'auto' && against === undefined) {
    return { mode: 'redirect', why: 'auto: redirect is possible' }
  }
  const why = wanted === 'port' ? 'asked for' : `auto: ${against?.why ?? ''}`
  rejectUnnamed(ports, why, prefix)
  return { mode: 'port', why }
}

/** Denies the capture of outgoing connections where nothing may redirect them. */
export function rejectOutbound(
  pod: Pod,
  options: InjectionOptions,
  context: InjectionContext,
): void {
  const against = options.has('outbound') ? againstRedirect(pod, context) : undefined
  if (against === undefined) return
  throw new Denial(
    against.reason,
    `outgoing connections cannot be captured: ${against.why}`,
    `${against.fix}, or remove ${context.settings.prefix}outbound`,
  )
}

function againstRedirect(pod: Pod, context: InjectionContext) {
  const level = context.namespace.labels[ENFORCE]
  if (level !== undefined && level !== '' && level !== 'privileged') {
    const why = `the namespace enforces the Pod Security level ${quoted(level)}, which forbids NET_ADMIN`
    return {
      reason: 'pod_security' as const,
      why,
      fix: `use a namespace with ${ENFORCE}=privileged`,
    }
  }
  const mesh = meshOf(pod, context)
  if (mesh === undefined) return undefined
  const why = `${mesh}, which redirects the same traffic`
  return { reason: 'mesh' as const, why, fix: 'remove the pod from the mesh' }
}

/** Rejects the address of the pod, on which the sidecar listens in this mode. */
function rejectOwnAddress(options: InjectionOptions, prefix: string): void {
  if (options.get('upstream-host') !== POD_IP) return
  throw new Denial(
    'upstream_host',
    `in mode bind the sidecar listens on the address of the pod, so that ${prefix}upstream-host cannot be ${POD_IP}`,
    'let your MCP server listen on 127.0.0.1, and remove the annotation',
  )
}

/** Rejects ports without a name, which Services have to follow. */
function rejectUnnamed(ports: readonly TakenPort[], why: string, prefix: string): void {
  const unnamed = ports.find(({ name }) => name === undefined)
  if (unnamed === undefined) return
  throw new Denial(
    'unnamed_port',
    `mode port (${why}) takes ports over by their name, and ${unnamed.number} has none`,
    `give the containerPort ${unnamed.number} a name, such as mcp, and let the targetPort of its Service be that name; or let your MCP server listen on 127.0.0.1 alone, with ${prefix}mode: bind`,
  )
}

const LOOPBACK = /(^|[^\d.])127\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d.])|localhost|::1/
const FIRST_UNPRIVILEGED = 1024

/** Returns the problems of mode `bind` that a pod's manifest shows. */
export function checkBinding(pod: Pod, ports: readonly TakenPort[]): readonly string[] {
  const containers = pod.spec?.containers ?? []
  const low = ports.filter(({ number }) => number < FIRST_UNPRIVILEGED)
  return [
    ...(containers.some(bindsLoopback)
      ? []
      : [
          'nothing in the pod shows that your MCP server listens on loopback: it must listen on 127.0.0.1 only, for example by a variable HOST; else it or the sidecar ends with EADDRINUSE',
        ]),
    ...low.map(
      ({ number }) =>
        `the sidecar is not root: whether it may listen on port ${number} depends on the container runtime; a port from ${FIRST_UNPRIVILEGED} on always works`,
    ),
  ]
}

function bindsLoopback({ env, args, command }: Container): boolean {
  const texts = [
    ...(env ?? []).map(({ value }) => value ?? ''),
    ...(args ?? []),
    ...(command ?? []),
  ]
  return texts.some((text) => LOOPBACK.test(text))
}
