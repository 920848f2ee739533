import { Tally } from './tally.ts'

const SERIES = 'squall_calls_total{'

/** What a metrics page says about tool calls. Only what the app itself did counts under an ending. */
export function tallyOf(page: string): Tally {
  const tally = new Tally()
  for (const line of page.split('\n')) {
    if (!line.startsWith(SERIES)) continue
    const labels = labelsOf(line)
    if (labels.get('method') !== 'tools/call') continue
    const ending = labels.get('origin') === 'upstream' ? labels.get('outcome') : undefined
    tally.add(labels.get('tool') ?? '', ending ?? 'other', Number(line.split('} ')[1]))
  }
  return tally
}

function labelsOf(line: string): Map<string, string> {
  const pairs = line.matchAll(/(\w+)="([^"]*)"/g)
  return new Map(Array.from(pairs, ([, name = '', value = '']) => [name, value]))
}
