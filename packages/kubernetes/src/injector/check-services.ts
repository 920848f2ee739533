import { type Fields, fieldsOf, listOf, quoted, textOf, textsOf } from '#base'

/** The facts about a pod that decide whether Services lead to its sidecar. */
interface SelectedPod {
  readonly labels: Readonly<Record<string, string>>
  /** The taken ports of the upstream, with the names that moved to the sidecar. */
  readonly ports: readonly { readonly number: number; readonly name?: string | undefined }[]
}

const MAX_NAMED = 5

/** Begins the warning of an injector that cannot read Services. */
export const UNCHECKED_SERVICES = 'Services cannot be checked'

export type ServicePorts = ReturnType<typeof servicePorts>

/** Reads the parts of a Service that count. */
export function servicePorts(service: Fields) {
  const { selector, clusterIP, ports } = fieldsOf(service['spec'])
  return {
    name: textOf(fieldsOf(service['metadata'])['name']) ?? '',
    selector: textsOf(selector),
    /** True for a Service without a cluster IP: clients connect to the pods. */
    isHeadless: clusterIP === 'None',
    ports: listOf(ports).flatMap(({ port, targetPort, protocol }) => {
      if (typeof port !== 'number') return []
      const isKnown = typeof targetPort === 'number' || typeof targetPort === 'string'
      return [{ port, targetPort: isKnown ? targetPort : undefined, protocol: textOf(protocol) }]
    }),
  }
}

/** Returns a warning for each Service that bypasses the sidecar in mode `port`. */
export function checkServices(
  pod: SelectedPod,
  services: readonly ServicePorts[] | undefined,
  prefix: string,
): readonly string[] {
  const { labels, ports } = pod
  if (services === undefined) {
    const numbers = ports.map(({ number }) => number).join(', ')
    return [
      `${UNCHECKED_SERVICES}: a headless Service or a numeric targetPort (${numbers}) would bypass Squall; run squall status to check them with your own permissions`,
    ]
  }
  const warnings = services
    .filter(({ selector }) => selects(selector, labels))
    .flatMap((service) => bypassing(service, pod, prefix))
  return warnings.length <= MAX_NAMED
    ? warnings
    : [...warnings.slice(0, MAX_NAMED), `and ${warnings.length - MAX_NAMED} more Services`]
}

function bypassing(
  { name, ports, isHeadless }: ServicePorts,
  pod: SelectedPod,
  prefix: string,
): readonly string[] {
  return ports.flatMap(({ port, targetPort = port, protocol = 'TCP' }) => {
    const match = pod.ports.find((each) => each.number === targetPort || each.name === targetPort)
    if (match === undefined || protocol !== 'TCP') return []
    if (isHeadless) {
      return [
        `the Service ${quoted(name)} is headless, so its clients connect directly to port ${match.number} of your MCP server and bypass Squall: give it a cluster IP, or set the annotation ${prefix}mode: redirect`,
      ]
    }
    if (match.number !== targetPort) return []
    return [
      `the Service ${quoted(name)} maps port ${port} to the numeric targetPort ${targetPort}, which bypasses Squall: write targetPort: ${match.name ?? ''}, or set the annotation ${prefix}mode: redirect`,
    ]
  })
}

/** Returns true for a Service that selects the pod; false without a selector. */
export function selects(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  const pairs = Object.entries(selector)
  return pairs.length > 0 && pairs.every(([key, value]) => labels[key] === value)
}
