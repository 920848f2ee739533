import { CONTINUE, type FaultContext, type Frame, type Plan, type Verdict } from '#rules'
import type { CallFacts } from '../experiment/tool-call.ts'
import type { CallResponse } from '../load/clients/load-client.ts'
import { retryAfter } from '../load/clients/read-response.ts'

/** The moment at which a fault is asked. */
export type Hook = 'request' | 'response'

const OVER_LIMIT = new Error('too many faults are in progress')
const BODY: Frame = { kind: 'body', raw: new Uint8Array(0), message: undefined, last: true }
const NEVER = new AbortController().signal

/**
 * Asks a fault of a matched rule about a call. Its sleep takes no time, and is returned in
 * milliseconds, with whether the fault acts: `end` of its rule is to be called.
 */
export async function askFault(
  match: Plan['matched'][number],
  index: number,
  hook: Hook,
  { call }: CallFacts,
  now: number,
) {
  const fault = match.rule.faults[index]!
  let slept = 0
  let acts = false
  // The members that faults use which `modelled.ts` accepts.
  const context = {
    call,
    session: undefined,
    client: undefined,
    header: () => undefined,
    headers: () => [],
    caller: undefined,
    signal: NEVER,
    now: () => now + slept,
    memory: (make: () => object) => match.state.faults.memory(index, make),
    random: match.random(index),
    sleep: async (ms: number) => void (slept += ms),
    injected: () => {
      if (!acts && !match.begin()) throw OVER_LIMIT
      acts = true
      match.applied()
    },
    withinLimit: () => match.withinLimit(),
    cannot: () => match.notApplicable(),
  } as unknown as FaultContext
  let verdict = CONTINUE
  try {
    if (hook === 'request') verdict = (await fault.onRequest?.(context)) ?? CONTINUE
    else {
      verdict = (await fault.beforeResponse?.(context)) ?? CONTINUE
      for await (const _ of fault.onResponse?.(context, frames()) ?? []);
    }
  } catch (error) {
    if (error !== OVER_LIMIT) throw error
  }
  return { verdict, slept, acts }
}

async function* frames(): AsyncGenerator<Frame, void> {
  yield BODY
}

/** Returns the response that a client gets by a verdict; undefined for none. */
export function injectedResponse(verdict: Verdict): CallResponse | undefined {
  if (verdict.kind === 'reset') return { kind: 'reset', markers: [] }
  if (verdict.kind !== 'respond') return undefined
  const { reply } = verdict
  if (reply.kind === 'toolError') return { kind: 'tool', message: reply.text, markers: [] }
  if (reply.kind === 'rpcError') {
    return { kind: 'rpc', code: reply.code, message: reply.message, markers: [] }
  }
  const named = Object.entries(reply.headers).find(([name]) => name.toLowerCase() === 'retry-after')
  return { kind: 'http', code: reply.status, markers: [], ...retryAfter(named?.[1]) }
}
