import { asInvoked, interruption, oneLine, plain } from '#base'
import { invalidCombination, type Output, UsageError } from '#cli'
import type { ClusterOptions } from './cluster-options.ts'
import { FAILED, jsonText, type Outputs } from './rollout.ts'

/**
 * Runs a command in each context of --contexts, or else once; returns the worst exit code. An error
 * in one cluster does not stop the others. `conflict` is a flag that rules out --contexts.
 */
export async function inContexts<
  Request extends { readonly cluster: ClusterOptions; readonly json: boolean },
>(
  request: Request,
  run: (request: Request, output: Outputs & { readonly out: Output }) => Promise<number>,
  { isParallel = false, conflict = false }: { isParallel?: boolean; conflict?: string | false },
  output: Outputs & { readonly out: Output } = { out: process.stdout, err: process.stderr },
): Promise<number> {
  const { contexts, ...cluster } = request.cluster
  if (contexts === undefined) return run(request, output)
  const wrong = cluster.context === undefined ? conflict : '--context'
  if (wrong)
    throw invalidCombination(`--contexts and ${wrong} are mutually exclusive`, 'remove one')
  const { signal, forget } = interruption(FAILED, ['SIGINT', 'SIGTERM'])
  const codes: number[] = []
  const documents: object[] = []
  const runIn = async (context: string): Promise<void> => {
    if (signal.aborted) return void codes.push(FAILED)
    const name = plain(context)
    let text = ''
    const out = { ...QUIET, write: (part: string) => void (text += part) }
    const err = { write: (part: string) => output.err.write(part.replace(/^(?=.)/gm, `${name}: `)) }
    try {
      codes.push(await run({ ...request, cluster: { ...cluster, context } }, { out, err }))
      if (request.json) documents.push({ context, ...(JSON.parse(text || '{}') as object) })
    } catch (error) {
      const trouble = oneLine(asInvoked(error instanceof Error ? error.message : String(error)))
      text = `${trouble}\n`
      codes.push(error instanceof UsageError ? 2 : FAILED)
      documents.push({ context, ok: false, trouble })
    }
    if (!request.json) output.out.write(`context ${name}:\n${text}`)
  }
  if (isParallel) await Promise.all(contexts.map(runIn))
  else for (const each of contexts) await runIn(each)
  forget()
  const worst = Math.max(...codes)
  if (request.json) output.out.write(jsonText({ ok: worst === 0, contexts: documents }))
  return worst
}

const QUIET = { on: () => undefined, off: () => undefined }
