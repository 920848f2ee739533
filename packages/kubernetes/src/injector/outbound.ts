import { type Destination, parseWrittenDestination, withoutHttp } from '#protocol'
import { quoted } from '#base'
import { isUncapturable } from '../redirect/outbound-rules.ts'
import { elements } from './value-checks.ts'

/** The group of the sidecar, whose own connections are not captured: the default of the command. */
export const OUTBOUND_GROUP = 15_390

/** A port of other machines whose connections the sidecar captures. */
export type OutboundPort = ReturnType<typeof outboundPorts>[number]

const MAX_TARGETS = 32
const FORM = `write destinations, separated by commas, such as db:5432, api.example.com:443, 10.0.0.0/8:6379, [fd00::/8]:6379 or http://tools:8080, at most ${MAX_TARGETS}`

/** Accepts destinations, separated by commas. Returns the correction of others. */
export function outboundProblem(value: string): string | undefined {
  const targets = elements(value)
  if (targets.length > MAX_TARGETS) return FORM
  for (const [i, target] of targets.entries()) {
    const found = parseWrittenDestination(target)
    if (found === undefined) return `invalid destination ${quoted(target)}: ${FORM}`
    if (isInPod(found)) {
      return `${quoted(target)} is an address that cannot be captured: remove it`
    }
    if (targets.findIndex((each) => withoutHttp(each) === withoutHttp(target)) !== i)
      return `write ${quoted(target)} once`
  }
  return undefined
}

/** Returns the captured ports of a checked value; `next` returns a free port of the sidecar. */
export function outboundPorts(value: string, next: () => number) {
  const parsed = elements(value).flatMap((target) => {
    const found = parseWrittenDestination(target)
    return found === undefined ? [] : [{ ...found, target }]
  })
  return [...new Set(parsed.map(({ port }) => port))].map((port) => {
    const own = parsed.filter((each) => each.port === port)
    const listen = next()
    // Addresses behind a name change, so a name captures the whole port.
    const networks = own.filter(({ network }) => network !== undefined)
    const from = [
      ...(networks.length === own.length ? [] : [String(port)]),
      ...networks.map(({ target }) => withoutHttp(target)),
    ]
    return {
      /** The port of the sidecar for them. */
      listen,
      /** The destinations as written. */
      targets: own.map(({ target }) => target),
      /** The options of `squall redirect`: one, or one for each network. */
      captures: from.map((each) => `${each}=${listen}`),
    }
  })
}

/** Returns whether all HTTP destinations of a checked value are among these Services. */
export function leadsToServices(
  value: string,
  namespace: string,
  services: ReadonlySet<string>,
): boolean {
  const places = elements(value).flatMap((target) => {
    const found = parseWrittenDestination(target)
    if (found?.isHttp !== true) return []
    const name = found.host.replace(/\.svc(\.cluster\.local)?$/, '')
    return `${name.includes('.') ? name : `${name}.${namespace}`}:${found.port}`
  })
  return places.length > 0 && places.every((place) => services.has(place))
}

/** Returns the ports in a checked value. */
export function portsOf(value: string): readonly number[] {
  return elements(value).flatMap((target) => parseWrittenDestination(target)?.port ?? [])
}

function isInPod({ host, network }: Destination): boolean {
  if (network !== undefined) return isUncapturable(network)
  return host === 'localhost' || host.endsWith('.localhost')
}
