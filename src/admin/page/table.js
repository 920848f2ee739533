import { byId, make, setAttribute, setText } from './dom.js'

/** Makes the cell that names a row. */
export function nameCell(text, ...more) {
  return make('th', { scope: 'row' }, make('span', { class: 'name' }, text), ...more)
}

/** Makes a smaller text. */
export function note(text) {
  return make('small', { class: 'muted' }, text)
}

/**
 * The table of a card. Its rows change in place, so that a selection stays where it is. It is sorted
 * by the column that the user chose; without a choice the items keep their order.
 */
export class Table {
  #spec
  #body
  #empty
  #known = new Map()
  #chosen
  #isDown = false

  /**
   * A column has an `id`, a `title`, and `by`, which returns the value of an item to sort by: texts
   * begin with A, and numbers with the largest. `create` returns a row and the function that updates
   * it; without it, the row has the `name` of an item, the `text` of each further column, and the
   * item's `data`. `empty` is shown without rows, and `sorted` is called when the user chose an order.
   */
  constructor(name, spec) {
    const { columns, empty } = spec
    this.#spec = spec
    this.#body = make('tbody', { id: `${name}-rows` })
    this.#empty = make(
      'tr',
      {},
      make('td', { colspan: columns.length, class: 'muted empty' }, empty),
    )
    const heads = columns.map((column) => this.#head(column))
    const head = make('thead', {}, make('tr', {}, ...heads))
    byId(name)
      .querySelector('.scroll')
      .append(make('table', {}, head, this.#body))
  }

  /** Shows the first items, as they are sorted. */
  show(items, most = Infinity) {
    const before = this.#known
    this.#known = new Map()
    for (const item of this.#sorted(items).slice(0, most)) {
      const key = this.#spec.key(item)
      const entry = before.get(key) ?? this.#spec.create?.(item) ?? this.#row(item)
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

  #row(item) {
    const { columns, name, data = () => ({}) } = this.#spec
    const texts = columns.slice(1)
    const cells = texts.map(({ id, number }) => make('td', { class: number ? `number ${id}` : id }))
    const row = make('tr', {}, nameCell(name(item)), ...cells)
    const update = (now) => {
      for (const [i, { text }] of texts.entries()) setText(cells[i], text(now))
      Object.assign(row.dataset, data(now))
    }
    return { row, update }
  }

  #head(column) {
    const { id, title, by, number } = column
    const head = make(
      'th',
      { scope: 'col', 'data-column': id, class: number ? 'number' : '' },
      title,
    )
    if (by === undefined) return head
    const button = make('button', { type: 'button', class: 'sort' }, title)
    head.replaceChildren(button)
    button.addEventListener('click', () => {
      this.#choose(column)
      for (const each of head.parentElement.children) {
        const order = this.#isDown ? 'descending' : 'ascending'
        setAttribute(each, 'aria-sort', each === head && this.#chosen ? order : 'none')
      }
      this.#spec.sorted()
    })
    return head
  }

  #sorted(items) {
    if (this.#chosen === undefined) return items
    const { by } = this.#chosen
    const sign = this.#isDown ? -1 : 1
    return items.toSorted((a, b) => sign * compare(by(a), by(b)))
  }

  /** Turns the order around at the second time, and gives the column up at the third. */
  #choose(column) {
    const isNumber = column.number === true
    if (this.#chosen !== column) {
      this.#chosen = column
      this.#isDown = isNumber
    } else if (this.#isDown === isNumber) this.#isDown = !isNumber
    else this.#chosen = undefined
  }
}

/** Compares texts or numbers; missing values come first. */
function compare(a, b) {
  if (a === b) return 0
  if (a === null || a === undefined) return -1
  if (b === null || b === undefined) return 1
  return a < b ? -1 : 1
}
