import type { InjectionContext, ServicePorts } from './injection.ts'
import type { Pod } from './pod-types.ts'
import { quoted } from './refusal.ts'
import type { TakenPort } from './taken-ports.ts'

const MAX_NAMED = 5

/** Which Services pass the sidecar by in mode `port`, since they name the number of the port. */
export function checkServices(
  pod: Pod,
  ports: readonly TakenPort[],
  { services, settings }: InjectionContext,
): readonly string[] {
  if (services === undefined) {
    return [
      `whether Services use the name of the port cannot be checked: one whose targetPort is a number (${ports
        .map(({ number }) => number)
        .join(', ')}) passes Squall by`,
    ]
  }
  const labels = pod.metadata?.labels ?? {}
  const warnings = services
    .filter(({ selector }) => selects(selector, labels))
    .flatMap((service) => numericTargets(service, ports, settings.prefix))
  return warnings.length <= MAX_NAMED
    ? warnings
    : [...warnings.slice(0, MAX_NAMED), `and ${warnings.length - MAX_NAMED} more Services`]
}

function numericTargets(
  { name, ports }: ServicePorts,
  taken: readonly TakenPort[],
  prefix: string,
): readonly string[] {
  return ports.flatMap(({ port, targetPort = port, protocol = 'TCP' }) => {
    const hit = taken.find(({ number }) => number === targetPort)
    if (hit === undefined || protocol !== 'TCP') return []
    return [
      `the Service ${quoted(name)} leads its port ${port} to the number ${targetPort}, past Squall: write targetPort: ${hit.name ?? ''}, or use ${prefix}mode: redirect`,
    ]
  })
}

/** A Service without a selector selects nothing. */
function selects(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  const pairs = Object.entries(selector)
  return pairs.length > 0 && pairs.every(([key, value]) => labels[key] === value)
}
