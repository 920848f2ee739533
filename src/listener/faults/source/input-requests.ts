import { isModern } from '../../../mcp/protocol-version.ts'
import type { Verdict } from '../../../filters/fault.ts'
import { type Span, valueOf } from '../../../base/json/json-node.ts'
import { readJson } from '../../../base/json/json-text.ts'
import { fieldsOf, isRecord } from '../../../base/values.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import { asksForInput } from '../../../mcp/outcome.ts'
import { type CallInjection, closeInjection } from '../call-injection.ts'
import { addMarker, move, rewritten, takeMarkers } from '../call-state.ts'
import { pipedMessage } from '../request/single-messages.ts'
import { type UpstreamFrame, type ChainFrame, isOpen } from '../chain/frame.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import type { ExchangeFaults } from '../exchange-faults.ts'
import { checkServerVerdict } from '../../../rules/select/verdict-checks.ts'
import type { ServerMessage } from './server-messages.ts'

/** Returns true when a response may ask its client for input, and a rule may be about that. */
export function mayAskForInput({ calls, planned }: ExchangeFaults): boolean {
  if (planned.messagePlanner === undefined) return false
  return calls.some(({ call }) => isModern(call?.protocolVersion))
}

/**
 * Pipes a result that asks the client for input through the faults of the rules about these
 * requests, as if the server had sent them alone. Returns undefined for other messages, and where
 * no rule matches.
 */
export function pipeInputRequests(
  faults: ExchangeFaults,
  frame: ChainFrame,
): Promise<readonly ChainFrame[]> | undefined {
  const [owner] = faults.calls
  if (owner === undefined || !mayAskForInput(faults)) return undefined
  const message = frame.last === true ? frame.message : undefined
  const { messagePlanner } = faults.planned
  const requests = requestsIn(message).flatMap(([key, request]) => {
    const own = messagePlanner?.plan(request, owner.call)
    return own === undefined ? [] : [{ key, faults: own }]
  })
  return requests.length === 0 ? undefined : pipeAll(owner, requests, frame as UpstreamFrame)
}

/** Returns the requests for input in a result, by their keys. */
function requestsIn(message: Message | undefined): readonly (readonly [string, ServerMessage])[] {
  if (message?.kind !== 'result' || !asksForInput(message)) return []
  const { id, result } = message
  const { inputRequests } = fieldsOf(result)
  return Object.entries(fieldsOf(inputRequests)).flatMap(([key, request]) => {
    if (!isRecord(request) || typeof request['method'] !== 'string') return []
    const { method, params } = request
    return [[key, { kind: 'request', id, method, params }] as const]
  })
}

/** The faults of a request for input, and its key in the result. */
interface PlannedRequest {
  readonly key: string
  readonly faults: CallInjection
}

async function pipeAll(
  owner: CallInjection,
  planned: readonly PlannedRequest[],
  original: UpstreamFrame,
): Promise<readonly ChainFrame[]> {
  let frames: readonly ChainFrame[] = [original]
  try {
    for (const { key, faults } of planned) {
      // The faults end with the call.
      faults.stop = owner.stop
      const [frame] = frames
      if (frame !== undefined && isOpen(frame)) {
        const part = (text: string) => requestIn(text, key)
        const checkOwn = (wanted: Verdict) => check(faults, wanted)
        const out = await pipedMessage(faults, frame, checkOwn, undefined, part)
        const isSame = out.length === 1 && isOpen(out[0]!) && out[0].raw === frame.raw
        if (!isSame) frames = out
      }
      for (const marker of takeMarkers(faults)) addMarker(owner, marker, false)
    }
  } catch (error) {
    move(owner, 'cuts')
    throw error
  } finally {
    for (const { faults } of planned) closeInjection(faults)
  }
  const [only] = frames
  const message = frames.length === 1 ? only?.message : undefined
  if (only !== original) rewritten(owner, original.message, message)
  return frames
}

/** Copies of the request would need a response of their own. */
function check({ call }: CallInjection, verdict: Verdict): NotApplicableReason | undefined {
  return verdict.kind === 'copies' ? 'already_sent' : checkServerVerdict(call!, verdict)
}

/** Finds a request for input in the text of a result. */
function requestIn(text: string, key: string): Span | undefined {
  const requests = valueOf(valueOf(readJson(text), 'result'), 'inputRequests')
  return valueOf(requests, key)
}
