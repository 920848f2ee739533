interface Place {
  readonly raw: Uint8Array
  readonly of: object | undefined
  /** Set while it only waits for those before it. */
  go: (() => void) | undefined
}

/**
 * Keeps the events that have ids in the order in which the app sent them. A client that resumes a
 * stream names the last id that it saw: an event that was held back until then, and that a later id
 * had overtaken, would never come again. Events without ids, which is all there is in HTTP+SSE, wait
 * for nobody; and streams with ids bring the answers of one POST only.
 */
export class PushOrder {
  #places: Place[] = []

  /** True while an event with an id is held. */
  get holds(): boolean {
    return this.#places.length > 0
  }

  /** How many bytes wait for those before them. */
  get waiting(): number {
    return this.#places.reduce((sum, { raw, go }) => sum + (go === undefined ? 0 : raw.length), 0)
  }

  /** An event goes into the lane of `of`. */
  hold(raw: Uint8Array, of: object): void {
    this.#places.push({ raw, of, go: undefined })
  }

  /** An event that nobody holds goes when those before it are out. */
  follow(raw: Uint8Array, go: () => void): void {
    if (this.holds) this.#places.push({ raw, of: undefined, go })
    else go()
  }

  /** An event has come out of its lane: resolves when those before it are out. */
  turn(raw: Uint8Array): Promise<void> | undefined {
    const place = this.#places.find((each) => each.raw === raw)
    if (place === undefined || place === this.#places[0]) return undefined
    return new Promise((resolve) => (place.go = resolve))
  }

  /** An event is out. */
  out(raw: Uint8Array): void {
    this.#leave((place) => place.raw === raw)
  }

  /** Nothing more comes out of a lane: what it has not given will not come. */
  over(of: object): void {
    this.#leave((place) => place.of === of)
  }

  #leave(left: (place: Place) => boolean): void {
    if (!this.holds) return
    this.#places = this.#places.filter((place) => !left(place))
    for (;;) {
      const [first] = this.#places
      const go = first?.go
      if (first === undefined || go === undefined) return
      first.go = undefined
      // One from a lane leaves when it is out; the others are with this.
      if (first.of === undefined) this.#places.shift()
      go()
      if (first.of !== undefined) return
    }
  }
}
