import type { ActiveFault } from '../active-fault.ts'
import { randomBytes } from 'node:crypto'
import { withId } from '../../../filters/lib/json/message-id.ts'
import { afterReads } from '../../../base/after-reads.ts'
import { ENDLESS, type Room } from '../../../base/room.ts'
import type { ResponseSink, Upstream } from '../../../http/transfer.ts'
import type { Call } from '../../../mcp/call.ts'
import type { CallTexts, SentRequest } from './call-texts.ts'
import { interruptibleWait } from '../chain/stop.ts'
import type { ExchangeContext } from '../exchange-context.ts'

/** The copies of a call that one fault orders. */
export interface CopyOrder {
  readonly active: ActiveFault
  readonly copies: number
  /** Milliseconds. */
  readonly spacing: number
}

/** Holds the ordered copies of one call. */
export class CopyOrders {
  /** Aborted when the upstream responds to the call; undefined without a session. */
  responded: AbortController | undefined
  /** True when the upstream reports the end of the session. */
  sessionEnded = false
  #waiting: CopyOrder[] = []
  #taken: readonly CopyOrder[] = []

  /** True when copies are ordered. */
  get isWanted(): boolean {
    return this.#waiting.length > 0
  }

  add(order: CopyOrder): void {
    this.#waiting.push(order)
  }

  /** Returns the ordered copies, when the call is sent to the upstream. */
  take(isInSession: boolean): readonly CopyOrder[] {
    this.#taken = this.#waiting.splice(0)
    if (isInSession) this.responded = new AbortController()
    return this.#taken
  }

  /**
   * Handles the upstream's response: copies without spacing are settled, and all are revoked when
   * the session has ended.
   */
  responds(hasEnded: boolean): void {
    this.sessionEnded = hasEnded
    for (const { active, spacing } of this.#taken) {
      if (hasEnded) active.revoke('session_over')
      else if (spacing === 0) active.settle()
    }
    this.responded?.abort()
  }

  /**
   * Orders the copies again for a redirected request, because the first ones went to the old
   * target.
   */
  repeat(): void {
    this.#waiting = [...this.#taken]
  }

  /** Revokes the copies of a call that is not sent. */
  drop(): void {
    for (const { active } of this.#waiting.splice(0)) active.revoke('call_not_sent')
  }
}

/** The header that numbers the copies of a call. */
const COPY_HEADER = 'x-squall-copy'

/** The timeout of a copy's response, in milliseconds. */
const MAX_RESPONSE = 300_000

/** The prefix of unique ids for copies, which no client uses. */
const PREFIX = `squall-copy-${randomBytes(6).toString('hex')}`
let made = 0

/** The time in which a server reports an unknown session, in milliseconds. */
const PROMPT = 100

const NEVER = new AbortController().signal

/** Configures the sending of copies. */
export interface CopyOptions {
  readonly upstream: Upstream
  readonly texts: CallTexts
  /** Counts the texts of copies. */
  readonly memory?: Room | undefined
  /** Aborted when the sidecar drains. */
  readonly closing: AbortSignal | undefined
  readonly onError: (error: unknown) => void
}

/** Provides the state of a call with copies. */
export interface CopiedOwner {
  readonly call: Call | undefined
  readonly copies: CopyOrders | undefined
  readonly context: ExchangeContext
}

/** A call with copies to send. */
export interface CopiedCall {
  /** The text that was sent to the upstream. */
  readonly text: string
  readonly order: CopyOrder
  readonly owner: CopiedOwner
}

export type Copied = Omit<CopiedCall, 'order'>

/** Returns the calls with ordered copies, as they are sent. */
export async function readCopied(
  owners: readonly CopiedOwner[],
  texts: CallTexts,
  responded: readonly number[],
): Promise<readonly Copied[]> {
  const copied: Copied[] = []
  for (const [index, owner] of owners.entries()) {
    if (owner.copies?.isWanted !== true || responded.includes(index)) continue
    const text = await texts.text(index)
    if (text !== undefined) copied.push({ owner, text })
  }
  return copied
}

/**
 * Sends the copies of a call one after the other, even without a waiting client, until the rule is
 * withdrawn. Their responses are read, so that the upstream does its work, and dropped. Never
 * rejects.
 */
export async function sendCopies(call: CopiedCall, options: CopyOptions): Promise<void> {
  const { active, copies, spacing } = call.order
  const closing = options.closing ?? NEVER
  const { memory = ENDLESS } = options
  const responded = call.owner.copies?.responded
  if (!memory.take(call.text.length)) {
    active.revoke('memory')
    return
  }
  try {
    if (responded !== undefined) {
      await interruptibleWait(PROMPT, responded.signal, closing)
      // A response that arrived while the process stood still is read first.
      if (!responded.signal.aborted) await new Promise<void>(afterReads)
    }
    for (let n = 1; n <= copies; n++) {
      await interruptibleWait(spacing, active.withdrawn, closing)
      const hasEnded = hasSessionEnded(call.owner)
      if (hasEnded) active.revoke('session_over')
      if (active.withdrawn.aborted || hasEnded) return
      // The fault takes effect with its first copy.
      active.settle()
      send(call, n, options)
    }
  } catch (error) {
    if (!closing.aborted) options.onError(error)
  } finally {
    memory.give(call.text.length)
  }
}

/** Returns true once a fault or the upstream has ended the session. */
function hasSessionEnded({ copies, context }: CopiedOwner): boolean {
  return copies?.sessionEnded === true || context.control.hasSessionEnded()
}

function send({ text, order, owner }: CopiedCall, n: number, options: CopyOptions): void {
  const isCall = owner.call?.kind === undefined
  const copy = isCall ? withId(text, JSON.stringify(`${PREFIX}-${++made}`)) : text
  if (copy === undefined) return
  const more = order.active.wireMarker === undefined ? [] : [COPY_HEADER, String(n)]
  sendAlone(options.texts.alone(copy, more), options)
}

/** Sends a request whose response nobody awaits; one without room is skipped. */
export function sendAlone(
  { head, body }: SentRequest,
  { upstream, memory = ENDLESS, closing = NEVER }: Omit<CopyOptions, 'texts' | 'onError'>,
): void {
  const size = (body as Uint8Array).length
  if (!memory.take(size)) return
  const ended = new AbortController()
  const transfer = upstream.send(head, body, dropping(ended))
  const stop = (): void => {
    memory.give(size)
    transfer.abort()
  }
  interruptibleWait(MAX_RESPONSE, ended.signal, closing).then(stop, stop)
}

/** Creates a sink that drops a response. */
function dropping(ended: AbortController): ResponseSink {
  return {
    info: () => undefined,
    head: () => undefined,
    data: () => true,
    end: () => ended.abort(),
    fail: () => ended.abort(),
  }
}
