import type { callMatcher } from '#rules'

/** What is known about a call when rules are matched. */
export type CallFacts = Parameters<ReturnType<typeof callMatcher>>[0]

/** Returns the facts of a call of a tool by a load, as far as they are known before it runs. */
export function toolCall(name: string, headers: Readonly<Record<string, string>> = {}): CallFacts {
  return {
    call: {
      id: 1,
      method: 'tools/call',
      name,
      params: { name, arguments: {} },
      transport: 'streamable-http',
      protocolVersion: undefined,
      progressToken: undefined,
    },
    headers: Object.entries(headers).flat(),
    session: undefined,
    client: undefined,
    http: { method: 'POST', path: '/mcp' },
  }
}
