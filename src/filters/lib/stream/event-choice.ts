import type { TUnsafe } from 'typebox'
import type { NodeOptions } from '../config-schema.ts'
import type { Frame } from '../../fault.ts'
import * as Type from 'typebox'

/** Which events of a stream: a kind of them, or the n-th. */
export type EventChoice = 'last' | 'notifications' | 'all' | number

/** A choice of events: written `last`, `notifications`, `all`, or a number from 1 on. */
export function eventChoice(options: NodeOptions): TUnsafe<EventChoice> {
  return Type.Unsafe<EventChoice>({
    anyOf: [
      { type: 'string', enum: ['last', 'notifications', 'all'] },
      { type: 'integer', minimum: 1, maximum: 1_000_000 },
    ],
    ...options,
  })
}

/** The fields of an event that decide whether it is chosen. */
export type ChosenBy = Pick<Frame, 'kind' | 'message' | 'last'>

/**
 * Chooses events of one response, which are asked for in order. Events without a message,
 * such as the one that opens a stream that can be resumed, are never chosen and not counted.
 */
export function eventPicker(choice: EventChoice): (event: ChosenBy) => boolean {
  let count = 0
  return ({ kind, message, last }) => {
    if (kind !== 'event' || message === undefined) return false
    count++
    switch (choice) {
      case 'last':
        return last
      case 'notifications':
        return message.kind === 'notification'
      case 'all':
        return true
      default:
        return count === choice
    }
  }
}
