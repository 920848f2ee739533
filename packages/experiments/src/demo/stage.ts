import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { replaceText } from '#base'
import type { RulesVersion } from '#rules'
import { assemble, type Logger, namedOptions } from '#sidecar'
import type { CallBounds, Endpoint } from '../load/clients/load-client.ts'
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

/** Runs the server, and `squall run` in front of it with a rules file. */
export class Stage {
  readonly server = new DemoServer()
  /** Errors that Squall logged about itself: none are expected. */
  readonly ownErrors: string[] = []
  readonly version: string
  readonly rulesFile: string
  #sidecar: Awaited<ReturnType<typeof assemble>> | undefined
  #text: string | undefined

  private constructor(version: string, directory: string) {
    this.version = version
    this.rulesFile = join(directory, 'rules.yaml')
  }

  static async open(version: string): Promise<Stage> {
    const stage = new Stage(version, await mkdtemp(join(tmpdir(), 'squall-demo-')))
    try {
      await stage.server.start()
      const flags = {
        listen: '127.0.0.1:0',
        admin: '127.0.0.1:0',
        upstream: `http://127.0.0.1:${stage.server.port}`,
        rules: stage.rulesFile,
        // The guard would disarm the rules, because the server of the demo fails often.
        'guard-error-rate': 'off',
      }
      stage.#sidecar = await assemble(namedOptions(flags, {}), stage.#logger())
    } catch (error) {
      await stage.close()
      throw error
    }
    return stage
  }

  get sidecar() {
    return this.#sidecar!
  }

  /** The target of clients and loads. */
  get target(): LoadTarget {
    const url = new URL(`http://127.0.0.1:${this.sidecar.listeners[0]!.port}/mcp`)
    return { url, client: 'lean', headers: {} }
  }

  /** Opens clients of `squall load` for single calls. */
  endpoint(): Promise<Endpoint> {
    return openEndpoint(this.target, this.version)
  }

  /** Saves a version of the rules; resolves when it is active or rejected. */
  async edit(text: string): Promise<Edit> {
    const rules = this.sidecar.rules!
    const before = rules.last
    // Unchanged text is not read again.
    if (text === this.#text && before !== undefined) return { takenMs: 0, version: before.version }
    this.#text = text
    // Replaces the file, as editors do.
    await replaceText(this.rulesFile, text)
    const savedAt = performance.now()
    while (rules.last === before) await nextTurn()
    return { takenMs: performance.now() - savedAt, version: rules.last!.version }
  }

  async close(): Promise<void> {
    await this.#sidecar?.close()
    await this.server.stop()
    await rm(dirname(this.rulesFile), { recursive: true, force: true })
  }

  #logger(): Logger {
    const quiet = (): void => {}
    const error = (fields: object, message: string): void => {
      const { err } = fields as { readonly err?: Error }
      this.ownErrors.push(err === undefined ? message : `${message}: ${err.message}`)
    }
    return { debug: quiet, info: quiet, warn: quiet, error }
  }
}
