import { foreign } from '#base'
import type { LoadResult } from '../load/results/result.ts'
import { cell, type ReportTable } from './report-table.ts'

const TONES: Readonly<Record<string, 'bad' | undefined>> = { high: 'bad' }

/** Tabulates what agents did in sentences, the most harmful first; empty without findings. */
export function findingsTable({ agents }: Pick<LoadResult, 'agents'>): ReportTable {
  const rows = (agents?.findings ?? []).map(({ severity, source, client, sentence, advice }) => {
    const who = source === 'load' ? 'squall load' : (client ?? '')
    const tone = TONES[severity]
    return [
      { text: foreign(sentence, 1000), about: foreign(who), ...(tone && { tone }) },
      cell(foreign(advice, 500)),
    ]
  })
  return {
    title: 'What agents did',
    about: 'During the load, as observed by the sidecar for all of its clients.',
    columns: [{ name: 'Finding' }, { name: 'Advice' }],
    rows,
  }
}
