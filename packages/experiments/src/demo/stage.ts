import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { replaceText } from '#base'
import type { RulesVersion } from '#rules'
import { assemble, type Logger, namedOptions, type Running, SILENT } from '#sidecar'
import type { CallBounds } from '../load/clients/load-client.ts'
import { openEndpoint } from '../load/clients/open-endpoint.ts'
import type { LoadTarget } from '../load/load-options.ts'
import { DemoServer } from './demo-server.ts'

/** An edit of the rules file and its result. */
export interface Edit {
  /** Milliseconds since the file was saved. */
  readonly takenMs: number
  readonly version: RulesVersion
}

/** Returns the bounds of a call that is not part of a load. */
export function bounds(): CallBounds {
  return { timeoutMs: 10_000, signal: new AbortController().signal }
}

export type Stage = Awaited<ReturnType<typeof openStage>>

/** Runs the server, and `squall run` in front of it with a rules file. */
export async function openStage(version: string) {
  const directory = await mkdtemp(join(tmpdir(), 'squall-demo-'))
  const rulesFile = join(directory, 'rules.yaml')
  const server = new DemoServer()
  /** Errors that Squall logged about itself: none are expected. */
  const ownErrors: string[] = []
  const closeServer = async (): Promise<void> => {
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await server.start()
    const flags = {
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      upstream: `http://127.0.0.1:${server.port}`,
      rules: rulesFile,
      // The guard would disarm the rules, because the server of the demo fails often.
      'guard-error-rate': 'off',
    }
    const sidecar = await assemble(namedOptions(flags, {}), loggerTo(ownErrors))
    const url = new URL(`http://127.0.0.1:${sidecar.listeners[0]!.port}/mcp`)
    /** The target of clients and loads. */
    const target: LoadTarget = { url, client: 'lean', headers: {} }
    return {
      version,
      server,
      sidecar,
      rulesFile,
      ownErrors,
      target,
      /** Opens clients of `squall load` for single calls. */
      endpoint: () => openEndpoint(target, version),
      edit: editorOf(rulesFile, sidecar.rules!),
      close: async (): Promise<void> => {
        await sidecar.close()
        await closeServer()
      },
    }
  } catch (error) {
    await closeServer()
    throw error
  }
}

/** Returns what saves a version of the rules, and resolves when it is active or rejected. */
function editorOf(rulesFile: string, rules: NonNullable<Running['rules']>) {
  let saved: string | undefined
  return async (text: string): Promise<Edit> => {
    const before = rules.last
    // Unchanged text is not read again.
    if (text === saved && before !== undefined) return { takenMs: 0, version: before.version }
    saved = text
    // Replaces the file, as editors do.
    await replaceText(rulesFile, text)
    const savedAt = performance.now()
    while (rules.last === before) await nextTurn()
    return { takenMs: performance.now() - savedAt, version: rules.last!.version }
  }
}

function loggerTo(errors: string[]): Logger {
  const error = (fields: object, message: string): void => {
    const { err } = fields as { readonly err?: Error }
    errors.push(err === undefined ? message : `${message}: ${err.message}`)
  }
  return { ...SILENT, error }
}
