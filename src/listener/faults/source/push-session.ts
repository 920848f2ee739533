import { isRecord } from '../../../base/values.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import type { PushedCall } from './pushed-call.ts'
import type { PushStream } from './push-stream.ts'

/** Shared, because thousands of streams are open, mostly without calls that have faults. */
const NO_CALLS: readonly PushedCall[] = []

/** Holds the open streams of one session, and its calls whose faults await a response. */
export class PushSession {
  readonly key: string
  readonly streams: PushStream[] = []
  #calls: readonly PushedCall[] = NO_CALLS

  constructor(key: string) {
    this.key = key
  }

  /** True while the streams must be read event by event. */
  get armed(): boolean {
    return this.#calls.length > 0
  }

  get empty(): boolean {
    return this.streams.length === 0 && this.#calls.length === 0
  }

  add(pushed: PushedCall): void {
    this.#calls = [...this.#calls, pushed]
  }

  /** Removes a call; returns true when it was known. */
  remove(pushed: PushedCall): boolean {
    const before = this.#calls.length
    this.#calls = this.#calls.filter((each) => each !== pushed)
    return this.#calls.length < before
  }

  /** Returns the call that a message answers, or whose progress it reports, if that is certain. */
  ownerOf(message: Message | undefined): PushedCall | undefined {
    if (message?.kind === 'result' || message?.kind === 'error') {
      const { id } = message
      // A reused id belongs to the newer call, as in the table of in-flight requests.
      return this.#calls.findLast(({ call }) => call.id === id)
    }
    if (message?.kind !== 'notification' || message.method !== 'notifications/progress') {
      return undefined
    }
    const token = isRecord(message.params) ? message.params['progressToken'] : undefined
    if (token === undefined) return undefined
    const owners = this.#calls.filter(({ call }) => call.progressToken === token)
    return owners.length === 1 ? owners[0] : undefined
  }
}
