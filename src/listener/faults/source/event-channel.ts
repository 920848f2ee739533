import { type ChainFrame, isOpen } from '../chain/frame.ts'
import { move, respondedBy } from '../call-state.ts'
import type { CallInjection } from '../call-injection.ts'
import { replyEvent, replyMessage } from '../emit/injected-response.ts'
import { type BatchReader, eventsOf } from './batch-events.ts'
import { MessageGate, type MessageGateOptions } from './server-messages.ts'

/**
 * Takes the events of one connection through faults, in this order: those of the server's messages,
 * then those of the call to which an event belongs. What has no faults passes at once.
 */
export abstract class EventChannel {
  /** Holds the messages of the server, where a rule may need them. */
  protected gate: MessageGate | undefined
  /** The messages of a batch on which faults of calls act. */
  protected abstract readonly batch: BatchReader

  /** Takes an event of the upstream. */
  protected push(frame: ChainFrame): void {
    if (this.gate !== undefined) this.gate.push(frame)
    else if (!isOpen(frame)) void this.passed(frame)
    else for (const each of eventsOf(frame, this.batch)) void this.passed(each)
  }

  /** Takes an event that has passed the faults of the server's messages. */
  protected abstract passed(frame: ChainFrame): Promise<void> | undefined

  /** Called when the upstream may continue. */
  protected abstract readonly continued: () => void

  protected openGate(options: Omit<MessageGateOptions, 'batch' | 'onFrame' | 'onDrain'>): void {
    const { batch, continued: onDrain } = this
    this.gate = new MessageGate({
      batch,
      onFrame: (each) => this.passed(each),
      onDrain,
      ...options,
    })
  }
}

/** Returns the event that is sent for a frame, and records that it ends its call. */
export function sentEvent(own: CallInjection, frame: ChainFrame, keepsRetry = false): Uint8Array {
  const { reply, last, message, raw } = frame
  if (reply !== undefined && reply.kind !== 'http' && own.call !== undefined) {
    move(own, 'replaces')
    return replyEvent(replyMessage(reply, own.call), frame, keepsRetry)
  }
  if (last === true) respondedBy(own, message)
  return raw
}
