import { make, setAttribute } from './dom.js'

/**
 * Sorts the items of a table by the column that the user chose; without a choice they keep their
 * order.
 */
export class Sorting {
  #columns
  #chosen
  #isDown = false

  /**
   * `columns` returns a value of an item for each `data-column` of the head: texts begin with A,
   * and numbers with the largest.
   */
  constructor(head, columns, onChange) {
    this.#columns = columns
    const cells = [...head.querySelectorAll('th[data-column]')]
    for (const cell of cells) {
      const button = make('button', { type: 'button', class: 'sort' }, ...cell.childNodes)
      cell.append(button)
      button.addEventListener('click', () => {
        this.#choose(cell.dataset.column, cell.classList.contains('number'))
        for (const each of cells) {
          const isChosen = each.dataset.column === this.#chosen
          const order = this.#isDown ? 'descending' : 'ascending'
          setAttribute(each, 'aria-sort', isChosen ? order : 'none')
        }
        onChange()
      })
    }
  }

  sorted(items) {
    const of = this.#columns[this.#chosen]
    if (of === undefined) return items
    const sign = this.#isDown ? -1 : 1
    return items.toSorted((a, b) => sign * compare(of(a), of(b)))
  }

  /** Turns the order around at the second time, and gives the column up at the third. */
  #choose(column, isNumber) {
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
