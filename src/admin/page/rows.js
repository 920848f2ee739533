import { make } from './dom.js'

/** Rows of a table that are changed in place, so that what somebody reads or selects stays there. */
export class Rows {
  #body
  #key
  #create
  #empty
  #known = new Map()

  /** `create` gives a row and what brings it up to date; `empty` is said where there are none. */
  constructor(body, { key, create, columns, empty }) {
    this.#body = body
    this.#key = key
    this.#create = create
    this.#empty = make(
      'tr',
      {},
      make('td', { colspan: String(columns), class: 'muted empty' }, empty),
    )
  }

  show(items) {
    const before = this.#known
    this.#known = new Map()
    for (const item of items) {
      const key = this.#key(item)
      const entry = before.get(key) ?? this.#create(item)
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
