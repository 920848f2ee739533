import { randomBytes } from 'node:crypto'
import { withId } from '../../../filters/lib/json/message-id.ts'
import { ENDLESS, type Room } from '../../../base/room.ts'
import type { ResponseSink, Upstream } from '../../../http/transfer.ts'
import type { CallRun } from '../call-run.ts'
import type { CopyOrder } from './copy-order.ts'
import type { CallTexts } from './call-texts.ts'
import { interruptibleWait } from '../chain/interruptible-wait.ts'

/** Tells the app that a call is a copy, and which one. */
const COPY_HEADER = 'x-squall-copy'

/** An app may take this long over a copy; then its connection is wanted back. */
const MAX_RESPONSE = 300_000

/** No client has an id like these, and no two copies have the same. */
const PREFIX = `squall-copy-${randomBytes(6).toString('hex')}`
let made = 0

/** A server says within this time, in milliseconds, that it does not know a session. */
const PROMPT = 100

const NEVER = new AbortController().signal

/** What copies are sent with. */
export interface CopySetting {
  readonly upstream: Upstream
  readonly texts: CallTexts
  /** Where the texts of copies are counted. */
  readonly memory?: Room | undefined
  /** Aborted when the sidecar drains. */
  readonly closing: AbortSignal | undefined
  readonly broke: (error: unknown) => void
}

/** A call of which copies are due from now on. */
export interface CopiedCall {
  /** As the app got it. */
  readonly text: string
  readonly order: CopyOrder
  readonly owner: Pick<CallRun, 'sessionOver' | 'copies'>
}

/**
 * Sends copies of a call one after the other, whether or not the client still waits, until the rule is
 * taken back. Their responses are read, so that the app does its work, and dropped. Never rejects.
 */
export async function sendCopies(call: CopiedCall, setting: CopySetting): Promise<void> {
  const { turn, copies, spacing } = call.order
  const closing = setting.closing ?? NEVER
  const { memory = ENDLESS } = setting
  const { heard } = call.owner.copies
  if (!memory.take(call.text.length)) {
    turn.revoke('memory')
    return
  }
  try {
    if (heard !== undefined) await interruptibleWait(PROMPT, heard.signal, closing)
    for (let n = 1; n <= copies; n++) {
      await interruptibleWait(spacing, turn.retired, closing)
      if (call.owner.sessionOver) turn.revoke('session_over')
      if (turn.retired.aborted || call.owner.sessionOver) return
      // The fault takes effect with its first copy.
      turn.settle()
      send(call, n, setting)
    }
  } catch (error) {
    if (!closing.aborted) setting.broke(error)
  } finally {
    memory.give(call.text.length)
  }
}

function send({ text, order }: CopiedCall, n: number, setting: CopySetting): void {
  const { texts, upstream, memory = ENDLESS, closing = NEVER } = setting
  const copy = withId(text, JSON.stringify(`${PREFIX}-${++made}`))
  // One that there is no room for is left out.
  if (copy === undefined || !memory.take(copy.length)) return
  const more = order.turn.wireMark === undefined ? [] : [COPY_HEADER, String(n)]
  const { head, body } = texts.alone(copy, more)
  const over = new AbortController()
  const transfer = upstream.send(head, body, dropping(over))
  const stop = (): void => {
    memory.give(copy.length)
    transfer.abort()
  }
  interruptibleWait(MAX_RESPONSE, over.signal, closing).then(stop, stop)
}

/** Takes a response that nobody wants. */
function dropping(over: AbortController): ResponseSink {
  return {
    info: () => undefined,
    head: () => undefined,
    data: () => true,
    end: () => over.abort(),
    fail: () => over.abort(),
  }
}
