// The model of each agent, as script.py has it: asks for three calls, one after another, whatever the
// results are, and prints what it reads in each.
const CALLS = [
  ['search_trips', { to: 'Lisbon' }, ['TR-48213', '4187.23']],
  ['book_trip', { trip: 'TR-48213', price: 4187.23 }, ['BK-771204', 'confirmed', '4187.23']],
  ['get_booking', { booking: 'BK-771204' }, ['BK-771204', 'confirmed', '4187.23']],
]

export class Script {
  asked = 0
  since = 0

  /** Reads the result of the last call; returns the tool and arguments of the next one, if any. */
  next(result) {
    if (this.asked > 0) this.read(typeof result === 'string' ? result : JSON.stringify(result))
    if (this.asked === CALLS.length) return undefined
    const [name, args] = CALLS[this.asked++]
    this.since = performance.now()
    return { name, args }
  }

  read(text) {
    const [tool, , values] = CALLS[this.asked - 1]
    const waited = (performance.now() - this.since) / 1000
    const found = values.filter((value) => text.includes(value))
    const isError = /(?<!is)error|invalid|fail|unavailable/i.test(text)
    // A result without any text is one, too.
    const isEmpty = !/[a-z0-9]/i.test(text) || /"text":\s*""/.test(text)
    if (isError || (found.length === 0 && !isEmpty)) {
      console.error(`  ${text.slice(0, 200)}`)
      console.log(tool, 'error', `after ${waited.toFixed(1)} s`)
    } else console.log(tool, found.length === values.length ? 'ok' : 'changed')
  }
}
