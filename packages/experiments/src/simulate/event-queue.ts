import { setImmediate as nextLoop } from 'node:timers/promises'

type Act = () => void | Promise<void>

/** Events between two looks at `stop`: a signal arrives only between turns of the event loop. */
const TURN = 4_096

interface Event {
  readonly at: number
  /** Events of the same time keep their order. */
  readonly number: number
  readonly act: Act
}

/** Keeps what is to happen in simulated time, as a binary heap. */
export class EventQueue {
  readonly #heap: Event[] = []
  #number = 0
  /** Milliseconds. */
  now = 0

  at(at: number, act: Act): void {
    const event = { at, number: this.#number++, act }
    const heap = this.#heap
    let place = heap.length
    while (place > 0) {
      const above = (place - 1) >> 1
      if (isBefore(heap[above]!, event)) break
      heap[place] = heap[above]!
      place = above
    }
    heap[place] = event
  }

  /** Runs all events in the order of their times, until it is stopped. */
  async run(stop: AbortSignal): Promise<void> {
    let acted = 0
    for (let event = this.#take(); event !== undefined; event = this.#take()) {
      if (++acted % TURN === 0) await nextLoop()
      if (stop.aborted) return
      this.now = event.at
      const acting = event.act()
      if (acting !== undefined) await acting
    }
  }

  #take(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (isBefore(last, heap[below]!)) break
      heap[place] = heap[below]!
      place = below
    }
    heap[place] = last
    return first
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.number < other.number)
}
