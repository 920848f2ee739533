import { randomBytes } from 'node:crypto'
import { aroundId } from '../../../filters/lib/json/message-id.ts'
import { afterReads } from '../../../base/after-reads.ts'
import { ENDLESS, type ByteBudget } from '../../../base/byte-budget.ts'
import { heavyWork, nextLoop } from '../../../base/event-loop.ts'
import type { ResponseSink, Transfer } from '../../../http/transfer.ts'
import type { CallInjection, CopyOrder } from '../call-injection.ts'
import type { CallTexts, SentRequest } from './call-texts.ts'
import { interruptibleWait } from '../chain/stop.ts'
import { NO_FAULT } from '../exchange-context.ts'

/** The header that numbers the copies of a call. */
const COPY_HEADER = 'x-squall-copy'

/** The timeout of a copy's response, in milliseconds. */
const MAX_RESPONSE = 300_000

/** The prefix of unique ids for copies, which no client uses. */
const PREFIX = `squall-copy-${randomBytes(6).toString('hex')}`
let made = 0
/** The copies that are sent before other events are served. */
const AT_ONCE = 8

/** The time in which a server reports an unknown session, in milliseconds. */
const PROMPT = 100

const NEVER = new AbortController().signal

/** Sends requests of Squall itself. */
interface Sender {
  send(request: SentRequest, sink: ResponseSink): Transfer
}

/** Takes the ordered copies of a message that is sent now. */
export function takeCopies(own: CallInjection): readonly CopyOrder[] {
  own.copies = own.ordered
  own.ordered = []
  return own.copies
}

/**
 * Handles the upstream's response to a call: copies without spacing are settled, and all are revoked
 * when the session has ended.
 */
export function copiesRespond(own: CallInjection, hasSessionEnded: boolean): void {
  own.sessionEnded = hasSessionEnded
  for (const { active, spacing } of own.copies) {
    if (hasSessionEnded) active.revoke('session_over')
    else if (spacing === 0) active.settle()
  }
  own.responded?.abort()
}

/** Returns the calls with ordered copies, and their texts as they are sent. */
export async function readCopied(
  posted: readonly CallInjection[],
  texts: CallTexts,
  responded: readonly number[],
): Promise<readonly (readonly [CallInjection, string])[]> {
  const copied: (readonly [CallInjection, string])[] = []
  for (const [index, own] of posted.entries()) {
    if (own.ordered.length === 0 || responded.includes(index)) continue
    const text = await texts.text(index)
    if (text !== undefined) copied.push([own, text])
  }
  return copied
}

/** Sends the ordered copies of a call, in the text that was sent to the upstream. */
export function sendCopies(
  own: CallInjection,
  text: string,
  sender: Sender,
  texts: CallTexts,
): void {
  if (own.context.facts.session !== undefined) own.responded = new AbortController()
  for (const order of takeCopies(own)) void sendOrder(own, order, text, sender, texts)
}

/**
 * Sends copies one after the other, even without a waiting client, until the rule is withdrawn.
 * Their responses are read, so that the upstream does its work, and dropped. Never rejects.
 */
async function sendOrder(
  own: CallInjection,
  { active, copies, spacing }: CopyOrder,
  text: string,
  sender: Sender,
  texts: CallTexts,
): Promise<void> {
  const { responded, context } = own
  const { closing, memory } = context.parts
  if (!memory.take(text.length)) {
    active.revoke('memory')
    return
  }
  try {
    if (responded !== undefined) {
      await interruptibleWait(PROMPT, responded.signal, closing)
      // A response that arrived while the process stood still is read first.
      if (!responded.signal.aborted) await new Promise<void>(afterReads)
    }
    const isCall = own.call?.kind === undefined
    const around = isCall ? aroundId(text) : [text]
    for (let n = 1; n <= copies; n++) {
      await interruptibleWait(spacing, active.withdrawn, closing)
      // Many copies at once would keep other calls waiting.
      const isNext = made % AT_ONCE === AT_ONCE - 1
      await (heavyWork.wait(text.length) ?? (isNext ? nextLoop() : undefined))
      const hasEnded =
        own.sessionEnded || context.parts.control.hasSessionEnded(context.facts.session)
      if (hasEnded) active.revoke('session_over')
      if (active.withdrawn.aborted || hasEnded) return
      // The fault takes effect with its first copy.
      active.settle()
      const copy = around?.join(JSON.stringify(`${PREFIX}-${++made}`))
      if (copy === undefined) continue
      const more = active.wireMarker === undefined ? [] : [COPY_HEADER, String(n)]
      sendAlone(texts.alone(copy, more), sender, closing, memory)
    }
  } catch (error) {
    if (!closing.aborted) context.listener.failed(NO_FAULT, error)
  } finally {
    memory.give(text.length)
  }
}

/** Sends a request whose response nobody awaits; skipped without memory for it. */
export function sendAlone(
  request: SentRequest,
  sender: Sender,
  closing: AbortSignal = NEVER,
  memory: ByteBudget = ENDLESS,
): void {
  const size = (request.body as Uint8Array).length
  if (!memory.take(size)) return
  const ended = new AbortController()
  const end = (): void => ended.abort()
  const ignore = (): void => undefined
  const transfer = sender.send(request, {
    info: ignore,
    head: ignore,
    data: () => true,
    end,
    fail: end,
  })
  const stop = (): void => {
    memory.give(size)
    transfer.abort()
  }
  interruptibleWait(MAX_RESPONSE, ended.signal, closing).then(stop, stop)
}
