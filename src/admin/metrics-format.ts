import { mediaType } from '../http/headers.ts'
import type { TextFormat } from '../telemetry/text-format.ts'

const OPENMETRICS = 'application/openmetrics-text'
const VERSION = '1.0.0'
const TEXT = new Set(['text/plain', 'text/*', '*/*'])

/** The format that an Accept value asks for: OpenMetrics only where it is named and liked no less. */
export function metricsFormat(accept = ''): TextFormat {
  let open = 0
  let text = 0
  for (const element of accept.split(',')) {
    const type = mediaType(element)
    if (type === OPENMETRICS && speaks(element)) open = Math.max(open, weight(element))
    else if (TEXT.has(type)) text = Math.max(text, weight(element))
  }
  return open > 0 && open >= text ? 'openmetrics' : 'prometheus'
}

/** Without a version, any will do. */
function speaks(element: string): boolean {
  const version = parameter(element, 'version')
  return version === undefined || version === VERSION
}

function weight(element: string): number {
  const value = Number(parameter(element, 'q') ?? 1)
  return value >= 0 && value <= 1 ? value : 0
}

function parameter(element: string, name: string): string | undefined {
  for (const part of element.split(';').slice(1)) {
    const [key = '', value = ''] = part.split('=', 2)
    if (key.trim().toLowerCase() === name) return value.trim().replaceAll('"', '')
  }
  return undefined
}
