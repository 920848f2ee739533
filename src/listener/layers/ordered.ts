import type { Transfer } from '../../http/transfer.ts'
import { internalFailure } from '../rejection.ts'
import type { Layer, Outgoing, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'

/** Sends each request after those that it must not overtake, or after a timeout. */
export function ordered({ memory, holdTimeout }: StackParts): Layer<Service<Outgoing>> {
  return (inner) => ({
    send(request, sink) {
      const { barriers } = request
      if (barriers === undefined) return inner.send(request, sink)
      let transfer: Transfer | undefined
      const leave = (): void => {
        clearTimeout(timer)
        for (const { waiting } of barriers) waiting.delete(check)
      }
      const send = (): void => {
        leave()
        try {
          transfer = inner.send(request, sink)
        } catch (error) {
          sink.fail(internalFailure(error))
        }
      }
      const check = (): void => {
        const next = barriers.find(({ isPassed }) => !isPassed)
        if (next === undefined) send()
        else next.waiting.add(check)
      }
      const timer = setTimeout(send, memory.exceeded ? 0 : holdTimeout).unref()
      check()
      const abort = (): void => {
        leave()
        // The client may leave before the request is sent.
        transfer?.abort()
      }
      return { resume: () => transfer?.resume(), abort }
    },
  })
}
