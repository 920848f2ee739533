import { type AnchorJob, anchorTexts } from './anchor-text.ts'
import { inThread } from '../../base/in-thread.ts'
import { COMPILED, MAX_BETWEEN_CALLS } from './parse-off-thread.ts'

/**
 * Anchors texts, large ones in a worker thread. Returns undefined for each text that cannot be
 * anchored, and undefined alone when the signal aborts.
 */
export async function anchorWherever(
  texts: AnchorJob['texts'],
  signal: AbortSignal,
  script: URL | undefined = COMPILED,
): Promise<readonly (string | undefined)[] | undefined> {
  if (signal.aborted) return undefined
  const job: AnchorJob = { kind: 'anchor', texts }
  const size = texts.reduce((sum, each) => sum + each.text.length + lengthBefore(each), 0)
  if (script === undefined || size <= MAX_BETWEEN_CALLS) return anchorTexts(job)
  return inThread(script, job, signal)
}

function lengthBefore({ applying }: AnchorJob['texts'][number]): number {
  return applying.before?.length ?? 0
}
