import { mergeResults } from '../../lab/load/results/merge-results.ts'
import { parseResult } from '../../lab/load/results/parse-result.ts'
import { readAs, writeText } from './load-files.ts'
import type { MergeRequest } from './merge-request.ts'

const MAX_RESULT = 256 * 1024 * 1024

/** Merges results. The exit code is 1 when a gate is breached by all of them together. */
export async function mergeCommand({ files, out }: MergeRequest): Promise<number> {
  const results = []
  for (const file of files) {
    results.push(await readAs(file, 'merge', MAX_RESULT, (text) => parseResult(text, file)))
  }
  const merged = mergeResults(results)
  const json = `${JSON.stringify(merged)}\n`
  if (out === undefined) {
    await new Promise<void>((resolve) => process.stdout.write(json, () => resolve()))
  } else {
    await writeText(out, '--out', json)
  }
  return merged.slo.every(({ ok }) => ok) ? 0 : 1
}
