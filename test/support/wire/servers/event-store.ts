import { EventEmitter, once } from 'node:events'
import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

interface StoredEvent {
  readonly streamId: string
  readonly message: JSONRPCMessage
}

/**
 * Remembers the events of a session in the order of their ids, for clients that resume a stream.
 */
export class MemoryEventStore implements EventStore {
  /** The event ids from which a client resumed. */
  readonly resumedFrom: string[] = []
  readonly #events: StoredEvent[] = []
  readonly #resumptions = new EventEmitter()

  /** Resolves when a client has resumed a stream the next time. */
  async resumed(): Promise<void> {
    await once(this.#resumptions, 'resumed')
  }

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    this.#events.push({ streamId, message })
    return String(this.#events.length - 1)
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return this.#events[Number(eventId)]?.streamId
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    this.resumedFrom.push(lastEventId)
    // The transport sends to the resumed stream only after the replay.
    setImmediate(() => this.#resumptions.emit('resumed'))
    const last = this.#events[Number(lastEventId)]
    if (last === undefined) return ''
    for (const [index, event] of this.#events.entries()) {
      if (index <= Number(lastEventId) || event.streamId !== last.streamId) continue
      // A priming event carries no message: sending it again would tell the client nothing.
      if (Object.keys(event.message).length > 0) await send(String(index), event.message)
    }
    return last.streamId
  }
}
