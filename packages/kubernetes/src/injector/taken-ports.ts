import { quoted } from '#base'
import { ADMIN_PORT_NAME } from './injected-names.ts'
import { isMesh } from './mesh.ts'
import { allContainers, type Container, type ContainerPort, type Pod } from './pod.ts'
import { Denial } from './injection.ts'
import type { InjectorSettings } from './settings-schema.ts'
import { type OutboundPort, outboundPorts, portsOf } from './outbound.ts'
import { elements } from './value-checks.ts'
import type { InjectionOptions } from './injection-options.ts'

/** One port of the upstream that the sidecar takes over. */
export interface TakenPort {
  readonly number: number
  /** The name in the upstream's container, if declared. */
  readonly name: string | undefined
  readonly container: string | undefined
  /** The port of the sidecar for its traffic. */
  readonly listen: number
}

interface Declared {
  readonly container: string
  readonly port: ContainerPort
}

const MAX_PORT = 65_535

type PortSettings = Pick<InjectorSettings, 'prefix' | 'adminPort' | 'firstListenPort'>

/**
 * Returns the ports to take over: the requested ones, else the only declared one. A pod with
 * `outbound` needs none.
 */
export function takenPorts(
  pod: Pod,
  options: InjectionOptions,
  settings: PortSettings,
): readonly TakenPort[] {
  const { prefix } = settings
  const containers = appContainers(pod, options.get('container'))
  const declared = containers.flatMap(({ name, ports }) =>
    (ports ?? []).map((port) => ({ container: name, port })),
  )
  const wanted = options.get('ports')
  const chosen =
    wanted === undefined
      ? onlyPort(declared, options, prefix)
      : elements(wanted).map((text) => portOf(text, declared, prefix))
  const unique = chosen.filter(
    (port, i) => chosen.findIndex((other) => other.number === port.number) === i,
  )
  const numbers = unique.map((port) => port.number)
  const next = freePorts(pod, options, numbers, settings)
  return unique.map((port) => ({ ...port, listen: next() }))
}

/** Returns the ports of other machines whose connections the sidecar captures. */
export function capturedPorts(
  pod: Pod,
  options: InjectionOptions,
  taken: readonly TakenPort[],
  settings: PortSettings,
): readonly OutboundPort[] {
  const value = options.get('outbound')
  if (value === undefined) return []
  const own = taken.flatMap(({ number, listen }) => [number, listen])
  return outboundPorts(value, freePorts(pod, options, own, settings))
}

/**
 * Returns a function that returns the next port of the sidecar that nothing in the pod uses; `own`
 * are ports that the pod does not declare.
 */
function freePorts(
  pod: Pod,
  options: InjectionOptions,
  own: readonly number[],
  { prefix, adminPort, firstListenPort }: PortSettings,
): () => number {
  const outbound = portsOf(options.get('outbound') ?? '')
  const declared = allContainers(pod).flatMap(({ ports }) => ports ?? [])
  const used = new Set([...own, ...outbound, ...declared.map((port) => port.containerPort)])
  if (used.has(adminPort)) {
    throw new Denial(
      'reserved_port',
      `port ${adminPort} is the admin port of the sidecar`,
      outbound.includes(adminPort)
        ? `remove it from ${prefix}outbound`
        : 'let your MCP server listen on another port',
    )
  }
  const named = declared.find(({ name }) => name === ADMIN_PORT_NAME)
  if (named !== undefined) {
    throw new Denial(
      'reserved_port',
      `the port name ${ADMIN_PORT_NAME} (port ${named.containerPort}) is reserved for the sidecar`,
      'rename the port',
    )
  }
  let next = firstListenPort
  return () => {
    while (used.has(next) || next === adminPort) next++
    if (next > MAX_PORT) {
      throw new Denial('reserved_port', 'no free port for the sidecar', 'declare fewer ports')
    }
    return next++
  }
}

/** The containers of a pod that may be the upstream. */
function appContainers(pod: Pod, name: string | undefined): readonly Container[] {
  const containers = (pod.spec?.containers ?? []).filter((each) => !isMesh(each.name))
  if (name === undefined) return containers
  const native = (pod.spec?.initContainers ?? []).filter((each) => each.restartPolicy === 'Always')
  const found = [...containers, ...native].find((each) => each.name === name)
  if (found !== undefined) return [found]
  const names = containers.map((each) => each.name).join(', ')
  throw new Denial(
    'unknown_container',
    `container ${quoted(name)} not found in the pod`,
    `use one of ${names}`,
  )
}

function onlyPort(
  declared: readonly Declared[],
  options: InjectionOptions,
  prefix: string,
): readonly Omit<TakenPort, 'listen'>[] {
  const tcp = declared.filter(isTcp)
  const numbers = [...new Set(tcp.map(({ port }) => port.containerPort))]
  if (numbers.length === 1) return [fromDeclared(tcp[0]!)]
  // A pod that only calls others, such as that of an agent.
  if (numbers.length === 0 && options.has('outbound')) return []
  if (numbers.length === 0) {
    throw new Denial(
      'no_port',
      'no container of the pod declares a TCP port',
      `name the port of your MCP server with the annotation ${prefix}ports, such as "3000"`,
    )
  }
  const list = tcp.map(({ port, container }) => `${labelOf(port)} of ${container}`).join(', ')
  throw new Denial(
    'many_ports',
    `the pod declares several TCP ports: ${list}`,
    `name the port that serves MCP with the annotation ${prefix}ports`,
  )
}

function portOf(
  text: string,
  declared: readonly Declared[],
  prefix: string,
): Omit<TakenPort, 'listen'> {
  const isNumber = /^\d+$/.test(text)
  const matching = declared.filter(({ port }) =>
    isNumber ? port.containerPort === Number(text) : port.name === text,
  )
  const tcp = matching.filter(isTcp)
  if (tcp.length === 0 && matching[0] !== undefined) {
    const { protocol } = matching[0].port
    throw new Denial('udp_port', `port ${text} is declared as ${protocol ?? ''}`, 'use a TCP port')
  }
  if (isNumber) {
    const named = tcp.find(({ port }) => port.name !== undefined) ?? tcp[0]
    // A container's declared ports are only a hint: it may listen on more.
    return named === undefined
      ? { number: Number(text), name: undefined, container: undefined }
      : fromDeclared(named)
  }
  const numbers = new Set(tcp.map(({ port }) => port.containerPort))
  if (numbers.size === 1) return fromDeclared(tcp[0]!)
  if (numbers.size > 1) {
    throw new Denial(
      'many_ports',
      `several containers have a port named ${text}`,
      `name the container with the annotation ${prefix}container`,
    )
  }
  const list = declared.filter(isTcp).map(({ port }) => labelOf(port))
  throw new Denial(
    'unknown_port',
    `no container declares a port named ${text}`,
    list.length === 0 ? 'use its number' : `use its number, or one of ${list.join(', ')}`,
  )
}

function isTcp({ port }: Declared): boolean {
  return (port.protocol ?? 'TCP') === 'TCP'
}

function labelOf({ name, containerPort }: ContainerPort): string {
  return name === undefined ? String(containerPort) : `${containerPort} (${name})`
}

function fromDeclared({ container, port }: Declared): Omit<TakenPort, 'listen'> {
  return { number: port.containerPort, name: port.name, container }
}
