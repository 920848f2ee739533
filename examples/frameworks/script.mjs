// Scripts the model of each agent, like script.py: requests three calls in sequence, regardless of the
// results, and prints the outcome of each.
const BOOKED = ['BK-771204', 'confirmed', '4187.23']
const CALLS = [
  { name: 'search_trips', args: { to: 'Lisbon' }, values: ['TR-48213', '4187.23'] },
  { name: 'book_trip', args: { trip: 'TR-48213', price: 4187.23 }, values: BOOKED },
  { name: 'get_booking', args: { booking: 'BK-771204' }, values: BOOKED },
]

export class Script {
  asked = 0
  since = 0

  /** Reads the result of the last call; returns the tool and arguments of the next call, if any. */
  next(result) {
    if (this.asked > 0) this.read(typeof result === 'string' ? result : JSON.stringify(result))
    if (this.asked === CALLS.length) return undefined
    const { name, args } = CALLS[this.asked++]
    this.since = performance.now()
    return { name, args }
  }

  read(text) {
    const { name, values } = CALLS[this.asked - 1]
    const waited = (performance.now() - this.since) / 1000
    const found = values.filter((value) => text.includes(value))
    const isError = /(?<!is)error|invalid|fail|unavailable/i.test(text)
    // A result without text counts as a result.
    const isEmpty = /^(?:[\W_]*|null)$|"text":\s*""|"(?:content|value)":\s*(?:\[\]|null)/.test(text)
    if (isError || (found.length === 0 && !isEmpty)) {
      process.stderr.write(`  ${text.slice(0, 200)}\n`)
      process.stdout.write(`${name} error after ${waited.toFixed(1)} s\n`)
    } else process.stdout.write(`${name} ${found.length === values.length ? 'ok' : 'changed'}\n`)
  }
}
