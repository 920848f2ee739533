import { fieldsOf, listOf } from '#base'
import { armedOptions, assemble, redactMessage, SILENT } from '#sidecar'
import { TapeUpstream } from '../tape/tape-upstream.ts'
import { Player } from '../tape/player.ts'
import { openTape } from '../tape/serve.ts'
import { serveStdio } from '../tape/serve-stdio.ts'
import type { Tape } from '../tape/tape.ts'
import { CELL_RULE, type CallMatch } from './cells.ts'
import type { ServedCall } from './judge.ts'

export type SweepTape = Awaited<ReturnType<typeof openSweepTape>>

/** Opens a tape that is served once for each run. */
export async function openSweepTape(path: string, match: CallMatch) {
  const tape = await openTape(path)
  const safe = await safeTools(tape)
  return {
    /** True for a tool that may be called twice, as the taped server declares. */
    isSafe: (tool: string): boolean => safe.has(tool),
    /**
     * Starts the tape as a server behind a sidecar of its own, with the rules of a file. `onCall`
     * is called for each call of a tool that has ended.
     */
    serve: (rules: string | undefined, onCall: () => void) => served(tape, match, rules, onCall),
    close: () => tape.close(),
  }
}

async function served(tape: Tape, match: CallMatch, rules: string | undefined, onCall: () => void) {
  const calls: ServedCall[] = []
  const player = new Player(tape, {
    session: 'all',
    match,
    repeats: true,
    onCall: ({ method, name: tool, params, key, line }) => {
      if (method !== 'tools/call') return
      const shown = redactMessage({ method, params }, tape.redaction)
      const { arguments: args } = fieldsOf(shown['params'])
      const own = match === 'tool' ? tool : key
      calls.push({ key: own, tool, args, line })
    },
  })
  const flags = { listen: '127.0.0.1:0', upstream: 'http://127.0.0.1:9' }
  const options = armedOptions({ ...flags, ...(rules !== undefined && { rules }) })
  const own = { name: 'the tape', upstream: new TapeUpstream(player) }
  const running = await assemble(options, SILENT, { own })
  const version = running.rules?.last?.version
  if (version?.kind === 'rejected') {
    await running.close()
    const [problem] = version.problems.flatMap(({ problems }) => problems)
    throw new Error(`the rule for this call is invalid: ${problem?.path}: ${problem?.message}`)
  }
  running.watch.read(({ method }) => method === 'tools/call' && onCall())
  const stdio = await serveStdio(player, running.sidecar).catch(async (error: unknown) => {
    await running.close()
    throw error
  })
  return {
    /** The address for the command. */
    url: `http://${running.listeners[0]!.text}/mcp`,
    /** A program that serves the tape by stdio. */
    program: stdio.program,
    /** The calls of tools that reached the server, in their order. */
    served: calls,
    /** True when a rule was injected. */
    get isInjected() {
      return running.recent?.list().some(({ entry }) => entry.rule === CELL_RULE) ?? false
    },
    /** Returns the number of calls with a false value in their arguments. */
    falseUsed: async () => falseUsed((await running.metrics.render()).text),
    close: async () => {
      await running.close()
      await stdio.close()
    },
  }
}

const USED = /^squall_falsified_total\{.*verdict="used.*\} (\d+)$/gm

/** Counts the false values that were used, in metrics. */
function falseUsed(metrics: string): number {
  return [...metrics.matchAll(USED)].reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Returns the tools that declare to be read-only or idempotent. */
async function safeTools(tape: Tape): Promise<ReadonlySet<string>> {
  const safe = new Set<string>()
  for (const { method, responses } of tape.calls) {
    if (method !== 'tools/list') continue
    for (const response of responses) {
      const { result } = (await tape.read(response)) ?? {}
      for (const { name, annotations } of listOf(fieldsOf(result)['tools'])) {
        const { readOnlyHint, idempotentHint } = fieldsOf(annotations)
        if (readOnlyHint === true || idempotentHint === true) safe.add(String(name))
      }
    }
  }
  return safe
}
