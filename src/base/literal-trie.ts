interface Node<V> {
  readonly values: V[]
  /** Most nodes of a long text have a single way on, and the last has none. */
  next: Map<number, Node<V>> | undefined
}

/** Finds the values of all prefixes, or suffixes, of a name in one pass. */
export class LiteralTrie<V> {
  readonly #root: Node<V> = { values: [], next: undefined }
  readonly #backwards: boolean

  /** Compares the ends of names when `backwards`. */
  constructor(backwards: boolean) {
    this.#backwards = backwards
  }

  add(text: string, value: V): void {
    let node = this.#root
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(this.#backwards ? text.length - 1 - i : i)
      const ways = (node.next ??= new Map())
      let next = ways.get(code)
      if (next === undefined) {
        next = { values: [], next: undefined }
        ways.set(code, next)
      }
      node = next
    }
    node.values.push(value)
  }

  /** Calls `found` for the value of each prefix, or suffix, of the name. */
  walk(name: string, found: (value: V) => void): void {
    let node: Node<V> | undefined = this.#root
    for (let i = 0; ; i++) {
      for (const value of node.values) found(value)
      if (i === name.length) return
      node = node.next?.get(name.charCodeAt(this.#backwards ? name.length - 1 - i : i))
      if (node === undefined) return
    }
  }
}
