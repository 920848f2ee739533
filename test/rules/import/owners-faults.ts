/** Each type of fault of mcp-chaos, as its owner writes it, about the tool `echo`. */
const OF_PLANS = {
  latency: 'type: latency, added_ms: 40',
  'latency with jitter': 'type: latency, added_ms: 30, jitter_ms: 10',
  error_injection: 'type: error_injection, rate: 1',
  burst_error: 'type: burst_error, rate: 1',
  drop_tool: 'type: drop_tool, tools: [echo]',
  registry_inconsistency: 'type: registry_inconsistency, tools: [echo]',
  server_degradation: 'type: server_degradation, tools: [echo], episode_rate: 0.5, episode_len: 4',
  schema_drift: 'type: schema_drift',
  partial_result: 'type: partial_result',
}

/** Each type of fault of mcp-chaos-monkey. */
const OF_SCENARIOS = {
  'monkey latency': 'type: latency, delayMs: 40',
  error: 'type: error, status_code: 503, message: down',
  timeout: 'type: timeout, hangMs: 30',
  malformed: 'type: malformed, corruptResponse: true',
  'connection-refused': 'type: connection-refused',
  'connection-drop': 'type: connection-drop',
  'connection-drop after bytes': 'type: connection-drop, after_bytes: 5',
  'connection-drop after a time': 'type: connection-drop, afterMs: 5',
  'rate-limit': 'type: rate-limit, retryAfterSeconds: 30',
  'schema-mismatch': 'type: schema-mismatch, missingFields: [items]',
}

export type OwnersFault = keyof typeof OF_PLANS | keyof typeof OF_SCENARIOS

const FILES = new Map<string, string>([
  ...Object.entries(OF_PLANS).map(
    ([name, fault]) => [name, `seed: 1\nfaults: [{ ${fault} }]\n`] as const,
  ),
  ...Object.entries(OF_SCENARIOS).map(
    ([name, fault]) =>
      [name, `name: s\nfaults: [{ target: echo, config: { ${fault} } }]\n`] as const,
  ),
])

/** Returns each fault that has a promise, with the file of its owner. */
export function owned<T>(
  promises: Readonly<Record<OwnersFault, T>>,
): readonly { readonly name: string; readonly file: string; readonly promise: T }[] {
  return Object.entries(promises).map(([name, promise]) => ({
    name,
    file: FILES.get(name) ?? '',
    promise,
  }))
}
