import { endingAfter } from '../../base/deadline.ts'
import { inThread } from '../../base/in-thread.ts'
import { deepFreeze } from '../../base/values.ts'
import { fileProblem } from './problem-format.ts'
import type { FoundRules } from './rules-file.ts'
import { parseFound } from './rules-parser.ts'
import type { RulesVersion } from './rules-version.ts'

/**
 * The largest text that is parsed on the main thread, between calls. It holds fifty rules, which
 * take about 15 ms; a text with an error in each line takes longer.
 */
export const MAX_BETWEEN_CALLS = 8 * 1024
/** Ten times the measured time of the slowest text of the maximum size. */
const TIME_LIMIT = 30_000

// The built worker exists only after a build; from source, parsing stays on the main thread.
export const COMPILED = import.meta.url.endsWith('.js')
  ? new URL('../rules/file/parse-worker.js', import.meta.url)
  : undefined

/**
 * Parses found files into a version, large ones in a worker thread so that calls continue. Returns
 * undefined when the signal aborts.
 */
export async function parseWherever(
  found: FoundRules,
  signal: AbortSignal,
  script: URL | undefined = COMPILED,
): Promise<RulesVersion | undefined> {
  if (signal.aborted) return undefined
  if (script === undefined || found.kind === 'absent' || sizeOf(found) <= MAX_BETWEEN_CALLS) {
    return parseFound(found)
  }
  const version = await inThread<RulesVersion>(
    script,
    found,
    endingAfter(TIME_LIMIT, signal),
  ).catch((error: unknown) => rejectedFor(found, whyNot(error)))
  if (version !== undefined) return deepFreeze(version)
  return signal.aborted ? undefined : rejectedFor(found, `parsing took over ${TIME_LIMIT} ms`)
}

function whyNot(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'not enough memory to parse it' : message
}

function sizeOf(found: FoundRules & { readonly kind: 'found' }): number {
  return found.texts.reduce((sum, { bytes }) => sum + bytes.length, 0)
}

function rejectedFor(found: FoundRules, why: string): RulesVersion {
  const file = found.kind === 'found' ? (found.texts[0]?.file ?? '') : ''
  const problems = [fileProblem(file, 'unreadable', `cannot be read: ${why}`)]
  return { kind: 'rejected', digest: found.digest, problems }
}
