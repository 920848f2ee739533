import { Fifo } from '../../../base/fifo.ts'

interface Place {
  readonly raw: Uint8Array
  readonly of: object | undefined
  /** Set while it only waits for those before it. */
  go: (() => void) | undefined
  left: boolean
}

/**
 * Keeps the events that have ids in the order in which the app sent them. A client that resumes a
 * stream names the last id that it saw: an event that was held back until then, and that a later id
 * had overtaken, would never come again. Events without ids, which is all there is in HTTP+SSE, wait
 * for nobody; and streams with ids bring the responses of one POST only.
 */
export class PushOrder {
  /** In order; those that have left stay until they are first. */
  readonly #order = new Fifo<Place>()
  readonly #places = new Map<Uint8Array, Place>()
  #waiting = 0

  /** True while an event with an id is held. */
  get holds(): boolean {
    return this.#places.size > 0
  }

  /** How many bytes wait for those before them. */
  get waiting(): number {
    return this.#waiting
  }

  /** An event goes into the lane of `of`. */
  hold(raw: Uint8Array, of: object): void {
    this.#add({ raw, of, go: undefined, left: false })
  }

  /** An event that nobody holds goes when those before it are out. */
  follow(raw: Uint8Array, go: () => void): void {
    if (!this.holds) return go()
    const place = { raw, of: undefined, go: undefined, left: false }
    this.#add(place)
    this.#wait(place, go)
  }

  /** An event has come out of its lane: resolves when those before it are out. */
  turn(raw: Uint8Array): Promise<void> | undefined {
    const place = this.#places.get(raw)
    if (place === undefined || place === this.#order.first) return undefined
    return new Promise((resolve) => this.#wait(place, resolve))
  }

  /** An event is out. */
  out(raw: Uint8Array): void {
    const place = this.#places.get(raw)
    if (place !== undefined) this.#leave(place)
    this.#goOn()
  }

  /** Nothing more comes out of a lane: what it has not given will not come. */
  over(of: object): void {
    for (const place of this.#places.values()) if (place.of === of) this.#leave(place)
    this.#goOn()
  }

  #add(place: Place): void {
    this.#order.push(place)
    this.#places.set(place.raw, place)
  }

  #wait(place: Place, go: () => void): void {
    place.go = go
    this.#waiting += place.raw.length
  }

  #takeGo(place: Place): (() => void) | undefined {
    const { go } = place
    if (go !== undefined) this.#waiting -= place.raw.length
    place.go = undefined
    return go
  }

  #leave(place: Place): void {
    this.#takeGo(place)
    place.left = true
    this.#places.delete(place.raw)
    while (this.#order.first?.left === true) this.#order.shift()
  }

  /** Lets those go that are first and only wait for that. */
  #goOn(): void {
    for (let first = this.#order.first; first !== undefined; first = this.#order.first) {
      const go = this.#takeGo(first)
      if (go === undefined) return
      // One from a lane leaves when it is out; the others are with this.
      if (first.of === undefined) this.#leave(first)
      go()
      if (first.of !== undefined) return
    }
  }
}
