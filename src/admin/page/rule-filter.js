import { byId, make } from './dom.js'
import { foreign } from './format.js'

const PREFIX = '#rule='

/** Returns the address that limits faults and errors to those of a rule. */
export function ruleLink(rule) {
  return `${PREFIX}${encodeURIComponent(rule)}`
}

/** Limits faults and errors to the rule that the address of the page names. */
export class RuleFilter {
  #notes = ['errors-filter', 'faults-filter'].map(byId)

  constructor(onChange) {
    addEventListener('hashchange', () => {
      this.#show()
      onChange()
      if (this.rule !== undefined) byId('errors-title').focus()
    })
    this.#show()
  }

  /** The name of the rule; undefined for all rules. */
  get rule() {
    const { hash } = location
    if (!hash.startsWith(PREFIX)) return undefined
    try {
      return decodeURIComponent(hash.slice(PREFIX.length))
    } catch {
      return undefined
    }
  }

  #show() {
    const { rule } = this
    for (const note of this.#notes) {
      note.hidden = rule === undefined
      note.replaceChildren(
        ...(rule === undefined
          ? []
          : [
              'Filtered by rule ',
              make('b', { class: 'name' }, foreign(rule)),
              '. ',
              make('a', { href: '#' }, 'Show all'),
            ]),
      )
    }
  }
}
