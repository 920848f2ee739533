/** One line of the text format. */
export interface Line {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** One metric family. */
export interface Family {
  readonly type: string
  readonly help: string
  readonly lines: Line[]
}

/** The same text for the same labels in any order. */
export function labelKey(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => JSON.stringify([name, value]))
  return pairs.toSorted(byText).join()
}

/** Puts texts in order. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/

/** Reads one family of a text; reading all of it takes milliseconds, and tests ask often. */
export function familyIn(text: string, name: string): Family | undefined {
  const own = new RegExp(`^(?:# (?:HELP|TYPE) )?${name}(?:_bucket|_sum|_count)?[ {]`)
  const lines = text.split('\n').filter((line) => own.test(line))
  return lines.length === 0 ? undefined : parseExposition(`${lines.join('\n')}\n`).get(name)
}

/**
 * Reads the Prometheus text format and forgives nothing: families declared once and before their
 * samples, no series twice, histograms that add up.
 */
export function parseExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>()
  const helps = new Map<string, string>()
  const seen = new Set<string>()
  if (!text.endsWith('\n')) throw new Error('no line feed at the end')
  let current: { readonly name: string; readonly family: Family } | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue
    if (line.startsWith('# HELP ')) {
      const [name, ...rest] = line.slice(7).split(' ')
      helps.set(once(helps, name!), rest.join(' '))
    } else if (line.startsWith('# TYPE ')) {
      const [name, type, ...rest] = line.slice(7).split(' ')
      if (rest.length > 0) throw new Error(`type: ${line}`)
      const family = { type: type!, help: helps.get(name!) ?? '', lines: [] }
      families.set(once(families, name!), family)
      current = { name: name!, family }
    } else {
      const sample = parseLine(line)
      if (current === undefined || baseName(sample.name, current.family) !== current.name) {
        throw new Error(`a sample outside its family: ${line}`)
      }
      const key = `${sample.name}${labelKey(sample.labels)}`
      if (seen.has(key)) throw new Error(`a series twice: ${key}`)
      seen.add(key)
      current.family.lines.push(sample)
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkSums(name, family)
  return families
}

function once(known: ReadonlyMap<string, unknown>, name: string): string {
  if (!NAME.test(name) || known.has(name)) throw new Error(`bad or repeated name: ${name}`)
  return name
}

function baseName(name: string, family: Family): string {
  return family.type === 'histogram' ? name.replace(/_(bucket|sum|count)$/, '') : name
}

function parseLine(line: string): Line {
  const open = line.indexOf('{')
  const labels: Record<string, string> = {}
  let at = open === -1 ? line.indexOf(' ') : open + 1
  const name = line.slice(0, open === -1 ? at : open)
  if (!NAME.test(name)) throw new Error(`name: ${line}`)
  let end = open === -1 || line[at] === '}'
  while (!end) {
    const equals = line.indexOf('="', at)
    const label = line.slice(at, equals)
    if (equals === -1 || !LABEL.test(label) || label in labels) throw new Error(`label: ${line}`)
    let value = ''
    for (at = equals + 2; line[at] !== '"'; at++) {
      if (at >= line.length) throw new Error(`open quote: ${line}`)
      if (line[at] !== '\\') value += line[at]
      else value += unescape(line[++at])
    }
    labels[label] = value
    at++
    end = line[at] === '}'
    if (line[at] === ',') at++
    else if (!end) throw new Error(`after a label: ${line}`)
  }
  const number = line.slice(open === -1 ? at + 1 : at + 2)
  if (!/^(\+Inf|-Inf|NaN|-?\d+(\.\d+)?(e[+-]?\d+)?)$/.test(number))
    throw new Error(`value: ${line}`)
  return { name, labels, value: Number(number.replace('Inf', 'Infinity')) }
}

function unescape(char: string | undefined): string {
  if (char === 'n') return '\n'
  if (char === '\\' || char === '"') return char
  throw new Error(`escape: ${char}`)
}

function checkSums(name: string, family: Family): void {
  const last = new Map<string, { bound: number; count: number }>()
  for (const { name: part, labels, value } of family.lines) {
    const { le, ...rest } = labels
    const key = JSON.stringify(rest)
    const before = last.get(key)
    if (part === `${name}_bucket`) {
      const bound = Number(le!.replace('Inf', 'Infinity'))
      if (before !== undefined && (bound <= before.bound || value < before.count)) {
        throw new Error(`buckets out of order: ${name}${key}`)
      }
      last.set(key, { bound, count: value })
    } else if (part === `${name}_count` && (before?.bound !== Infinity || before.count !== value)) {
      throw new Error(`count and buckets differ: ${name}${key}`)
    }
  }
}
