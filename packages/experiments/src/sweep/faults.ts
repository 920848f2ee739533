/** One fault of each kind that a client can get: in words, and for a rule. */
export const FAULT_RULES = {
  error: {
    sees: 'a tool error',
    faults: [{ abort: { toolError: 'The service is temporarily unavailable.' } }],
  },
  timeout: { sees: 'no response', faults: [{ hang: {} }] },
  rateLimit: {
    sees: 'HTTP status 429 with Retry-After: 1',
    faults: [{ abort: { status: 429, headers: { 'retry-after': '1' } } }],
  },
  session: { sees: 'HTTP status 404 for its session', faults: [{ session: {} }] },
  cut: { sees: 'half of the response', faults: [{ truncate: {} }] },
  lost: {
    sees: 'a reset after the server had executed the call',
    faults: [{ reset: { at: 'response' } }],
  },
  empty: {
    sees: 'a result with empty strings and lists',
    faults: [{ truncate: { content: { items: 0 } } }, { truncate: { content: { chars: 0 } } }],
  },
  falsified: { sees: 'a plausible wrong value', faults: [{ falsify: {} }] },
  drift: { sees: 'a result with a changed field', faults: [{ rewrite: { drift: 1 } }] },
  late: { sees: 'its response after 5 s', faults: [{ delay: { fixed: '5s', at: 'response' } }] },
} as const satisfies Readonly<Record<string, { sees: string; faults: readonly object[] }>>

export type FaultName = keyof typeof FAULT_RULES

export const FAULT_NAMES = Object.keys(FAULT_RULES) as readonly FaultName[]
