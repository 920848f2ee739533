import type { Plan } from './plan.ts'
import type { ObjectMeta, Pod } from './pod-types.ts'

const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container'
const SCRAPE = 'prometheus.io/scrape'
const SCRAPE_PORT = 'prometheus.io/port'
const SCRAPE_PATH = 'prometheus.io/path'

/** Annotations for others that the pod is given, where it has none of its own. */
export function addedAnnotations(
  { metadata, spec }: Pod,
  { settings, native, ports }: Plan,
): Readonly<Record<string, string>> {
  const app = ports[0]?.container ?? spec?.containers?.[0]?.name
  return {
    // A plain sidecar comes first, and kubectl takes the first container for the main one.
    ...(!native && app !== undefined && !has(metadata, DEFAULT_CONTAINER)
      ? { [DEFAULT_CONTAINER]: app }
      : {}),
    ...(settings.scrapeAnnotations &&
    ![SCRAPE, SCRAPE_PORT, SCRAPE_PATH].some((key) => has(metadata, key))
      ? { [SCRAPE]: 'true', [SCRAPE_PORT]: String(settings.adminPort), [SCRAPE_PATH]: '/metrics' }
      : {}),
  }
}

function has(metadata: ObjectMeta | null | undefined, key: string): boolean {
  return metadata?.annotations?.[key] !== undefined
}
