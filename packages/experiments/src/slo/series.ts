// The series of a sidecar that SLOs are about. What a fault ended says nothing about the upstream.

/** Matches calls of tools whose outcome no fault made. */
export const CALLS: readonly string[] = [
  'method="tools/call"',
  'outcome!="cancelled"',
  'origin!~"injected|injected_elsewhere"',
]
/** Matches those that failed. */
export const ERRORS: readonly string[] = [
  'method="tools/call"',
  'outcome!~"ok|cancelled"',
  'origin!~"injected|injected_elsewhere"',
]

/** Matches a duration of PromQL with one unit. */
export const PROMQL_DURATION = '^[0-9]{1,4}[smhdw]$'

/** Matches the name of a label. */
export const LABEL_NAME = '^[a-zA-Z_][a-zA-Z0-9_]{0,63}$'

/** Returns the braces of a selector. */
export function selector(
  matchers: readonly string[],
  labels: Readonly<Record<string, string>>,
): string {
  // JSON escapes as PromQL does.
  const own = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return `{${[...matchers, ...own].join(', ')}}`
}
