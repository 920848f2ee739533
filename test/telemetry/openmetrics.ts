import { labelKey } from './exposition.ts'

/** A trace that a sample points at. */
export interface ShownExemplar {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Seconds since the epoch. */
  readonly at: number
}

/** One sample of an OpenMetrics text. */
export interface OpenLine {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly exemplar: ShownExemplar | undefined
}

/** One metric family of an OpenMetrics text. */
export interface OpenFamily {
  readonly type: string
  readonly help: string
  readonly lines: OpenLine[]
}

/** The suffixes that the sample names of each type may add to the name of their family. */
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
}
const WITH_EXEMPLARS = new Set(['_total', '_bucket'])
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/
const NUMBER = /^(?:\+Inf|-Inf|NaN|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/
const CANONICAL = /^(?:\+Inf|\d+\.\d+|\d(?:\.\d+)?e-\d\d)$/
const MOST_EXEMPLAR_CHARS = 128

/**
 * Reads OpenMetrics 1.0 and forgives nothing: each family together and declared once, help before
 * type before samples, only the suffixes that its type has, no series twice, exemplars only where
 * they may be and within their bucket, canonical bounds, and the end where it has to be.
 */
export function parseOpenMetrics(text: string): Map<string, OpenFamily> {
  if (!text.endsWith('\n# EOF\n')) throw new Error('no end')
  const families = new Map<string, OpenFamily>()
  const seen = new Set<string>()
  const taken = new Set<string>()
  let help: { readonly name: string; readonly text: string } | undefined
  let current: { readonly name: string; readonly family: OpenFamily } | undefined
  for (const line of text.slice(0, -'# EOF\n'.length - 1).split('\n')) {
    if (line.startsWith('# HELP ')) {
      const [name = '', ...rest] = line.slice(7).split(' ')
      if (
        rest
          .join(' ')
          .replaceAll(/\\[\\n"]/g, '')
          .match(/["\\]/) !== null
      )
        throw bad('help', line)
      help = { name, text: rest.join(' ') }
    } else if (line.startsWith('# TYPE ')) {
      const [name = '', type = '', ...rest] = line.slice(7).split(' ')
      const suffixes = SUFFIXES[type]
      if (rest.length > 0 || suffixes === undefined || !NAME.test(name)) throw bad('type', line)
      if (help?.name !== name || families.has(name)) throw bad('family', line)
      for (const suffix of suffixes) {
        if (taken.has(name + suffix)) throw bad('clash', line)
        taken.add(name + suffix)
      }
      current = { name, family: { type, help: help.text, lines: [] } }
      families.set(name, current.family)
    } else {
      if (current === undefined) throw bad('no family', line)
      const { name, family } = current
      const sample = parseSample(line)
      const suffix = sample.name.slice(name.length)
      if (!sample.name.startsWith(name) || !SUFFIXES[family.type]!.includes(suffix)) {
        throw bad('suffix', line)
      }
      if (sample.exemplar !== undefined && !WITH_EXEMPLARS.has(suffix)) throw bad('exemplar', line)
      if (family.type !== 'gauge' && !(sample.value >= 0)) throw bad('negative', line)
      const key = `${sample.name}${labelKey(sample.labels)}`
      if (seen.has(key)) throw bad('series twice', line)
      seen.add(key)
      family.lines.push(sample)
    }
  }
  for (const [name, { type, lines }] of families)
    if (type === 'histogram') checkBuckets(name, lines)
  return families
}

function bad(what: string, line: string): Error {
  return new Error(`${what}: ${line.slice(0, 300)}`)
}

/** Buckets of one series stand together, ascend, and hold their exemplars. */
function checkBuckets(name: string, lines: readonly OpenLine[]): void {
  const done = new Set<string>()
  let key: string | undefined
  let before = { bound: -Infinity, count: 0 }
  for (const { name: part, labels, value, exemplar } of lines) {
    const { le, ...rest } = labels
    const own = labelKey(rest)
    if (own !== key) {
      if (done.has(own)) throw new Error(`${name}: the lines of a series stand apart`)
      done.add(own)
      key = own
      before = { bound: -Infinity, count: 0 }
    }
    if (part === `${name}_bucket`) {
      if (le === undefined || !CANONICAL.test(le)) throw new Error(`${name}: bound ${le}`)
      const bound = Number(le.replace('Inf', 'Infinity'))
      if (bound <= before.bound || value < before.count) throw new Error(`${name}: order`)
      if (exemplar !== undefined && !(exemplar.value <= bound && exemplar.value > before.bound)) {
        throw new Error(`${name}: an exemplar outside its bucket`)
      }
      before = { bound, count: value }
    } else if (le !== undefined) throw new Error(`${name}: a bound without a bucket`)
    else if (before.bound !== Infinity) throw new Error(`${name}: no last bucket`)
    else if (part === `${name}_count` && value !== before.count) throw new Error(`${name}: count`)
  }
}

function parseSample(line: string): OpenLine {
  const nameEnd = line.search(/[{ ]/)
  const name = line.slice(0, nameEnd)
  if (!NAME.test(name)) throw bad('name', line)
  const labels = line[nameEnd] === '{' ? readLabels(line, nameEnd) : { labels: {}, end: nameEnd }
  const [rest = '', ...more] = line.slice(labels.end).split(' # ')
  if (more.length > 1) throw bad('two exemplars', line)
  const number = rest.slice(1)
  if (rest[0] !== ' ' || !NUMBER.test(number)) throw bad('value', line)
  return {
    name,
    labels: labels.labels,
    value: Number(number.replace('Inf', 'Infinity')),
    exemplar: more[0] === undefined ? undefined : readExemplar(more[0], line),
  }
}

function readExemplar(text: string, line: string): ShownExemplar {
  if (text[0] !== '{') throw bad('exemplar', line)
  const { labels, end } = readLabels(text, 0)
  const [, value = '', at = '', ...rest] = text.slice(end).split(' ')
  if (!NUMBER.test(value) || !NUMBER.test(at) || rest.length > 0) throw bad('exemplar', line)
  if (Object.entries(labels).flat().join('').length > MOST_EXEMPLAR_CHARS) throw bad('long', line)
  return { labels, value: Number(value), at: Number(at) }
}

/** Labels from the brace at `start`; `end` is behind the closing one. */
function readLabels(
  line: string,
  start: number,
): { readonly labels: Readonly<Record<string, string>>; readonly end: number } {
  // Without a prototype, so that no name is taken for one that is there already.
  const labels = Object.create(null) as Record<string, string>
  let at = start + 1
  if (line[at] === '}') return { labels, end: at + 1 }
  for (;;) {
    const equals = line.indexOf('="', at)
    const label = line.slice(at, equals)
    if (equals === -1 || !LABEL.test(label) || label in labels) throw bad('label', line)
    let value = ''
    for (at = equals + 2; line[at] !== '"'; at++) {
      if (at >= line.length) throw bad('open quote', line)
      if (line[at] !== '\\') {
        value += line[at]
        continue
      }
      const next = line[++at]
      if (next !== 'n' && next !== '\\' && next !== '"') throw bad('escape', line)
      value += next === 'n' ? '\n' : next
    }
    labels[label] = value
    at++
    if (line[at] === '}') return { labels: { ...labels }, end: at + 1 }
    if (line[at++] !== ',') throw bad('after a label', line)
  }
}
