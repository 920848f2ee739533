import { plain } from '../../base/text/foreign-text.ts'
import type { ExperimentValidateRequest } from '../commands/experiment.ts'
import { complaints, readPlanFile } from './read-plans.ts'

const FAILED = 1

/** Checks plans; returns the exit code. */
export async function validatePlans(
  { paths, production, json }: ExperimentValidateRequest,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const files = []
  for (const path of paths) {
    const { read } = await readPlanFile(path, production)
    const ok = read.ok && read.rejections.length === 0
    const problems = read.ok ? [] : read.problems
    files.push({ file: path, ok, problems, refusals: read.ok ? read.rejections : [] })
    if (!json) write(ok ? `${plain(path)}: ok\n` : complaints(path, read))
  }
  const ok = files.every((each) => each.ok)
  if (json) write(`${JSON.stringify({ ok, files }, null, 2)}\n`)
  return ok ? 0 : FAILED
}
