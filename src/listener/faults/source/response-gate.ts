import { toolOf } from '../../../mcp/call.ts'
import { SealedFrame } from '../chain/frame.ts'
import type { ResponseContext } from './faulted-sink.ts'
import { pipeInputRequests } from './input-requests.ts'
import { MessageGate, type MessageGateOptions } from './server-messages.ts'
import { ownerOf } from './sse-feed.ts'

type Stream = Pick<MessageGateOptions, 'onFrame' | 'onDrain' | 'cut'> & {
  /** Receives a reply in place of the response to the only call. */
  readonly onReply: (frame: SealedFrame) => Promise<void> | undefined
}

/** Creates the gate of a response with events; undefined when no rule may need its messages. */
export function gateOf(
  { faults, app }: ResponseContext,
  { onFrame, onReply, ...stream }: Stream,
): MessageGate | undefined {
  const { messagePlanner } = faults.options
  if (messagePlanner === undefined) return undefined
  return new MessageGate({
    ...stream,
    onFrame: (frame) => {
      const isReply = frame instanceof SealedFrame && frame.reply !== undefined
      return isReply ? onReply(frame) : onFrame(frame)
    },
    asked: (frame) => pipeInputRequests(faults, frame),
    plan: (message) => {
      const tool = toolOf(ownerOf(faults.calls, message)?.call)
      return messagePlanner.plan(message, undefined, tool)
    },
    uncut: faults.shared ? 'shared_exchange' : undefined,
    post: (text) => app.post(text),
    memory: faults.memory,
  })
}
