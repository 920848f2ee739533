import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeReports } from '../../src/experiment/experiment-report.ts'
import type { ExperimentResult } from '../../src/experiment/experiment-result.ts'
import type { Changes, ExperimentStage } from './stage.ts'

/** Writes the reports of a result, and returns their texts. */
export async function reports(
  stage: ExperimentStage,
  result: ExperimentResult,
  changes: Changes = {},
) {
  const kept = {
    file: 'plan.yaml',
    directory: stage.directory,
    text: stage.text(changes),
    files: {},
  }
  const directory = await writeReports(join(stage.directory, 'experiments'), result, kept)
  const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8')
  const html = await read('report.html')
  const [front = '', evidence = ''] = html.split('<h2>Evidence</h2>')
  return {
    front,
    evidence,
    markdown: await read('report.md'),
    json: JSON.parse(await read('report.json')) as ExperimentResult,
  }
}
