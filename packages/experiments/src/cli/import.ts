import { quoted } from '#base'
import type { IMPORT } from '../commands/import.ts'
import {
  type Imported,
  importFaults,
  MAX_FILE_BYTES,
  notesText,
  parseWithPositions,
  problemFrames,
} from '#rules'
import { invalidFile, print, readBytes, type RequestOf, writeText } from '#cli'

const FAILED = 1

/** Converts one file and writes the rules; returns the exit code. */
export async function importCommand(request: RequestOf<typeof IMPORT>): Promise<number> {
  const { file, from, out, force, json, as } = request
  const bytes = await readBytes(file, MAX_FILE_BYTES)
  const rules = importFaults(bytes, from)
  const imported = as === 'experiment' && rules.ok ? await asPlan(rules, file, bytes) : rules
  if (imported.ok && (out !== undefined || !json)) {
    await writeText(out, '--out', imported.text, force)
  }
  if (json) {
    const { ok, ...rest } = imported
    await print(`${JSON.stringify({ ok, file, ...rest }, null, 2)}\n`)
  } else {
    const text = Buffer.from(bytes).toString('utf8')
    const report = imported.ok
      ? notesText(file, imported)
      : problemFrames({ file, ...imported }, text)
    process.stderr.write(report)
  }
  return imported.ok ? 0 : FAILED
}

/** Puts a plan in the place of the rules. */
async function asPlan(
  rules: Imported & { readonly ok: true },
  file: string,
  bytes: Uint8Array,
): Promise<Imported> {
  const { scenarioPlan } = await import('../experiment/scenario-plan.ts')
  const { readPlan } = await import('../experiment/read-plan.ts')
  const text = scenarioPlan(parseWithPositions(bytes).document?.value, rules.text)
  if (text === undefined) {
    throw invalidFile(
      `${quoted(file)} must contain expectedBehavior or assertions`,
      'import it as rules, and begin a plan with squall experiment catalog',
    )
  }
  const source = { file, directory: '/', readText: () => Promise.reject(new Error('no file')) }
  const plan = await readPlan(text, source)
  if (!plan.ok) return { ok: false, problems: plan.problems.flatMap(({ problems }) => problems) }
  const notes = rules.notes.filter(({ path }) => !/^(expected_?behavior|assertions)$/i.test(path))
  return { ...rules, text, notes }
}
