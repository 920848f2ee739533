import { FAILURES } from './demo-tools.ts'

/** Counts of one tool, by key. */
type Row<Key extends string> = Readonly<Record<Key, number>>

/** Counts by tool. */
export class Counts<Key extends string> {
  readonly #keys: readonly Key[]
  readonly #rows: Map<string, Row<Key>>

  constructor(keys: readonly Key[], rows: ReadonlyMap<string, Row<Key>> = new Map()) {
    this.#keys = keys
    this.#rows = new Map(rows)
  }

  add(tool: string, more: Partial<Row<Key>>): void {
    this.#rows.set(tool, this.#sum(this.of(tool), more))
  }

  copy(): Counts<Key> {
    return new Counts(this.#keys, this.#rows)
  }

  get tools(): readonly string[] {
    return [...this.#rows.keys()].filter((tool) => tool !== '').toSorted()
  }

  of(tool: string): Row<Key> {
    return this.#rows.get(tool) ?? this.#sum({}, {})
  }

  total(): Row<Key> {
    return this.tools.reduce((sum, tool) => this.#sum(sum, this.of(tool)), this.#sum({}, {}))
  }

  /** Returns the increase since the earlier counts. */
  since(earlier: Counts<Key>): Counts<Key> {
    const grown = new Counts(this.#keys)
    for (const tool of this.tools)
      grown.#rows.set(tool, this.#sum(this.of(tool), earlier.of(tool), -1))
    return grown
  }

  toJSON(): Readonly<Record<string, Row<Key>>> {
    return Object.fromEntries(this.tools.map((tool) => [tool, this.of(tool)]))
  }

  #sum(a: Partial<Row<Key>>, b: Partial<Row<Key>>, times = 1): Row<Key> {
    const sums = this.#keys.map((key) => [key, (a[key] ?? 0) + times * (b[key] ?? 0)])
    return Object.fromEntries(sums) as Row<Key>
  }
}

/** The keys of the counts by outcome; a call with another outcome counts only as a call. */
export const ENDING_KEYS = ['calls', 'ok', ...FAILURES] as const
export type EndingCounts = Counts<(typeof ENDING_KEYS)[number]>

/** Counts the tool calls on a metrics page. Outcomes count only the server's own errors. */
export function endingCounts(page: string): EndingCounts {
  const counts: EndingCounts = new Counts(ENDING_KEYS)
  for (const { labels, value } of seriesOf(page, 'squall_calls_total')) {
    if (labels.get('method') !== 'tools/call') continue
    const ending = labels.get('origin') === 'real' ? labels.get('outcome') : undefined
    counts.add(labels.get('tool') ?? '', { calls: value, [ending ?? 'other']: value })
  }
  return counts
}

/** The counts of a sidecar: calls, errors by origin, and injections. */
export type OriginCounts = Counts<'calls' | 'injected' | 'real' | 'faults'>

export function noCounts(): OriginCounts {
  return new Counts(['calls', 'injected', 'real', 'faults'])
}

/** Reads the counts of a metrics page. */
export function originCounts(page: string): OriginCounts {
  const counts = noCounts()
  for (const { labels, value } of seriesOf(page, 'squall_calls_total')) {
    if (labels.get('method') !== 'tools/call') continue
    const failed = labels.get('outcome') === 'ok' ? 0 : value
    const injected = labels.get('origin') === 'injected' ? failed : 0
    counts.add(labels.get('tool') ?? '', { calls: value, injected, real: failed - injected })
  }
  for (const { labels, value } of seriesOf(page, 'squall_faults_injected_total')) {
    counts.add(labels.get('tool') ?? '', { faults: value })
  }
  return counts
}

interface Series {
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

/** Returns the series of one metric. */
function seriesOf(page: string, name: string): readonly Series[] {
  return page
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .map((line) => {
      const pairs = line.matchAll(/(\w+)="([^"]*)"/g)
      const labels = new Map(Array.from(pairs, ([, label = '', value = '']) => [label, value]))
      return { labels, value: Number(line.split('} ')[1]) }
    })
}
