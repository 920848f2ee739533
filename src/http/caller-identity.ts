import type { RequestHead } from './headers.ts'

/** Headers that control sending, reading or tracing, and do not identify the caller. */
const NEUTRAL =
  /^(?:accept(?:-.*)?|age|b3|baggage|cache-control|cdn-loop|cf-ray|connection|content-.*|date|dnt|expect|if-.*|idempotency-key|keep-alive|last-event-id|mcp-(?:method|name|param-.*|protocol-version|session-id)|newrelic|pragma|priority|sec-.*|te|trace(?:parent|state)|trailer|transfer-encoding|upgrade(?:-.*)?|user-agent|via|x-amzn-trace-id|x-b3-.*|x-cloud-trace-context|x-datadog-.*|x-envoy-.*|x-request-start|x-squall-.*|.*(?:request|correlation|trace|span|transaction)-?id|(?:sentry|uber)-trace.*)$/
/** Names of headers and query parameters by which servers identify callers. */
const IDENTIFYING =
  /auth|cookie|token|secret|credential|password|api-?key|client-?(?:cert|id)|jwt|oidc|saml|assertion|identity|principal|signature|dpop|(?:^|-)(?:key|cert|dn|user|user-?(?:id|name)|login|email|subject|account|tenant|customer|org|organization|session|session-?id|sig|pass)(?:-|$)/

/**
 * Returns a text that differs between callers: the target and all headers except those that only
 * control sending, reading or tracing. Undefined when nothing identifies the caller. The text
 * contains secrets and must not be stored.
 */
export function callerText(
  { target, headers }: Pick<RequestHead, 'target' | 'headers'>,
  session: string | undefined,
): string | undefined {
  let identified = session !== undefined || namesCaller(target)
  const lines: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (NEUTRAL.test(name)) continue
    lines.push(JSON.stringify([name, headers[i + 1]!]))
    identified ||= headers[i + 1] !== '' && identifies(name)
  }
  if (!identified) return undefined
  // Sorting makes the order of different headers irrelevant.
  return JSON.stringify([target, session ?? null, lines.toSorted()])
}

function identifies(name: string): boolean {
  return IDENTIFYING.test(name.replaceAll('_', '-'))
}

/** Returns true when a query parameter identifies the caller: `?api_key=…`. */
function namesCaller(target: string): boolean {
  const start = target.indexOf('?')
  if (start < 0) return false
  const names = target
    .slice(start + 1)
    .split('&')
    .map((part) => part.split('=', 1)[0]!)
  return names.some((name) => identifies(name.toLowerCase()))
}
