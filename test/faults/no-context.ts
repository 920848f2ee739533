import type { ExchangeContext } from '../../src/listener/faults/exchange-context.ts'
import { MemoryBudget } from '../../src/listener/memory-budget.ts'
import { facts } from '../rules/facts.ts'

/** A context for faults in tests that need none of its values. */
export const NO_CONTEXT: ExchangeContext = {
  facts: facts(),
  exchange: {
    head: { method: 'POST', target: '/mcp', version: '1.1', headers: [] },
    requestBytes: 0,
    entries: [],
  },
  parts: {
    maxBody: Infinity,
    holdTimeout: Infinity,
    memory: new MemoryBudget(Infinity),
    push: { send: () => false },
    closing: new AbortController().signal,
    now: () => 0,
    control: {
      expireSession: () => undefined,
      hasSessionEnded: () => false,
      hostFor: () => ({
        refuseConnections: () => undefined,
        server: undefined,
        closePort: undefined,
        watchFor: () => undefined,
        falsified: () => true,
      }),
    },
  },
  listener: {
    injected: () => undefined,
    notApplicable: () => undefined,
    canaryReturned: () => undefined,
    falseValueUsed: () => undefined,
    failed: () => undefined,
  },
}
