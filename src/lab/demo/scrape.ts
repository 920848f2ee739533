import { Tally } from './tally.ts'

/** Counts the tool calls on a metrics page. Outcomes count only the app's own errors. */
export function tallyOf(page: string): Tally {
  const tally = new Tally()
  for (const { labels, value } of seriesOf(page, 'squall_calls_total')) {
    if (labels.get('method') !== 'tools/call') continue
    const ending = labels.get('origin') === 'upstream' ? labels.get('outcome') : undefined
    tally.add(labels.get('tool') ?? '', ending ?? 'other', value)
  }
  return tally
}

/** One line of a metrics page. */
export interface Series {
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

/** The series of one metric. */
export function seriesOf(page: string, name: string): Series[] {
  return page
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .map((line) => ({ labels: labelsOf(line), value: Number(line.split('} ')[1]) }))
}

function labelsOf(line: string): Map<string, string> {
  const pairs = line.matchAll(/(\w+)="([^"]*)"/g)
  return new Map(Array.from(pairs, ([, name = '', value = '']) => [name, value]))
}
