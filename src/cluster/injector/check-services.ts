import { quoted } from '../../base/text/foreign-text.ts'
import type { ServicePorts } from './injection.ts'

/** A pod in mode `port`, as far as Services are concerned. */
export interface SelectedPod {
  readonly labels: Readonly<Record<string, string>>
  /** The ports of the app that were taken over, with the names that moved to the sidecar. */
  readonly ports: readonly { readonly number: number; readonly name?: string | undefined }[]
}

const MAX_NAMED = 5

/** Begins the warning of an injector that knows no Services. */
export const UNCHECKED_SERVICES = 'whether Services lead to the sidecar cannot be checked'

/** Reports which Services lead past the sidecar in mode `port`. */
export function checkServices(
  pod: SelectedPod,
  services: readonly ServicePorts[] | undefined,
  prefix: string,
): readonly string[] {
  const { labels, ports } = pod
  if (services === undefined) {
    const numbers = ports.map(({ number }) => number).join(', ')
    return [
      `${UNCHECKED_SERVICES}: one whose targetPort is a number (${numbers}), or that is headless, passes Squall by; squall status checks it with your rights`,
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
    const hit = pod.ports.find((each) => each.number === targetPort || each.name === targetPort)
    if (hit === undefined || protocol !== 'TCP') return []
    if (isHeadless === true) {
      return [
        `the Service ${quoted(name)} is headless: its clients reach the app itself at port ${hit.number}, past Squall: give it a cluster IP, or use ${prefix}mode: redirect`,
      ]
    }
    if (hit.number !== targetPort) return []
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
