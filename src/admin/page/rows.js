import { make } from './dom.js'

/** Changes the rows of a table in place, so that a selection stays where it is. */
export class Rows {
  #body
  #spec
  #empty
  #known = new Map()

  /** `create` returns a row and the function that updates it; `empty` is shown without rows. */
  constructor(body, spec) {
    this.#body = body
    this.#spec = spec
    const { columns, empty } = spec
    this.#empty = make('tr', {}, make('td', { colspan: columns, class: 'muted empty' }, empty))
  }

  show(items) {
    const before = this.#known
    this.#known = new Map()
    for (const item of items) {
      const key = this.#spec.key(item)
      const entry = before.get(key) ?? this.#spec.create(item)
      before.delete(key)
      entry.update(item)
      this.#known.set(key, entry)
    }
    for (const { row } of before.values()) row.remove()
    if (items.length === 0) this.#body.replaceChildren(this.#empty)
    else this.#empty.remove()
    let next = this.#body.firstElementChild
    for (const { row } of this.#known.values()) {
      if (row === next) next = next.nextElementSibling
      else this.#body.insertBefore(row, next)
    }
  }
}
