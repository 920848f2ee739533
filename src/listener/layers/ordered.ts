import type { Transfer } from '../../http/transfer.ts'
import { internalFailure } from '../rejection.ts'
import type { SendBarrier } from '../send-barrier.ts'
import type { Layer, Outgoing, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'

/** Sends each request after those that it must not overtake, or after a timeout. */
export function ordered({ memory, holdTimeout }: StackParts): Layer<Service<Outgoing>> {
  return (inner) => ({
    send(request, sink) {
      const { barriers } = request
      if (barriers === undefined) return inner.send(request, sink)
      const timeout = memory.exceeded ? 0 : holdTimeout
      return sendBehind(barriers, timeout, {
        send: () => inner.send(request, sink),
        failed: (error) => sink.fail(internalFailure(error)),
      })
    },
  })
}

interface Held {
  readonly send: () => Transfer
  readonly failed: (error: unknown) => void
}

/** Sends a request when its barriers have passed, unless its client leaves before. */
function sendBehind(barriers: readonly SendBarrier[], timeout: number, held: Held): Transfer {
  let transfer: Transfer | undefined
  const leave = (): void => {
    clearTimeout(timer)
    for (const { waiting } of barriers) waiting.delete(check)
  }
  const send = (): void => {
    leave()
    try {
      transfer = held.send()
    } catch (error) {
      held.failed(error)
    }
  }
  const check = (): void => {
    const next = barriers.find(({ isPassed }) => !isPassed)
    if (next === undefined) send()
    else next.waiting.add(check)
  }
  const timer = setTimeout(send, timeout).unref()
  check()
  return {
    resume: () => transfer?.resume(),
    abort: () => {
      leave()
      transfer?.abort()
    },
  }
}
