import type { ActiveRules, RulesVersion } from '#rules'
import type { Logger } from '#sidecar'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DemoServer } from './demo-server.ts'

/** The parts of the program that the demo runs: commands are above it. */
export interface DemoProgram {
  readonly version: string
  /** Starts `squall run` in this process with these flags. */
  startSidecar(flags: Readonly<Record<string, string>>, logger: Logger): Promise<StartedSidecar>
}

/** A running `squall run`. */
export interface StartedSidecar {
  readonly listeners: readonly { readonly port: number }[]
  readonly admin: { readonly port: number } | undefined
  readonly rules: ActiveRules | undefined
  close(): Promise<void>
}

/** A sidecar in front of the demo's MCP server, with the defaults of `squall run`. */
export interface DemoSidecar {
  readonly port: number
  readonly adminPort: number
  readonly running: StartedSidecar
  metrics(): Promise<string>
}

/** An edit of the rules file and its result. */
export interface Edit {
  /** Milliseconds since the file was saved. */
  readonly takenMs: number
  readonly version: RulesVersion
}

/** Runs the server, and Squall in front of it with a rules file. */
export class Stage {
  readonly server = new DemoServer()
  /** Errors that Squall logged about itself: none are expected. */
  readonly ownErrors: string[] = []
  readonly #sidecars: DemoSidecar[] = []
  readonly rulesFile: string
  #text: string | undefined
  readonly #program: DemoProgram

  private constructor(program: DemoProgram, directory: string) {
    this.#program = program
    this.rulesFile = join(directory, 'rules.yaml')
  }

  static async open(program: DemoProgram): Promise<Stage> {
    const stage = new Stage(program, await mkdtemp(join(tmpdir(), 'squall-demo-')))
    try {
      await stage.server.start()
      // The guard would disarm the rules, because the server of the demo fails often.
      await stage.addSidecar({ rules: stage.rulesFile, 'guard-error-rate': 'off' })
    } catch (error) {
      await stage.close()
      throw error
    }
    return stage
  }

  /** The sidecar of all phases. */
  get sidecar(): DemoSidecar {
    return this.#sidecars[0]!
  }

  get version(): string {
    return this.#program.version
  }

  /** Saves a version of the rules; resolves when it is active or rejected. */
  async edit(text: string): Promise<Edit> {
    const isActive = this.sidecar.running.rules!
    const before = isActive.last
    // Unchanged text is not read again.
    if (text === this.#text && before !== undefined) return { takenMs: 0, version: before.version }
    this.#text = text
    // Replaces the file, as editors do.
    await writeFile(`${this.rulesFile}.new`, text)
    await rename(`${this.rulesFile}.new`, this.rulesFile)
    const savedAt = performance.now()
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (isActive.last === before) setImmediate(look)
        else resolve()
      }
      look()
    })
    return { takenMs: performance.now() - savedAt, version: isActive.last!.version }
  }

  /** Starts another sidecar in front of the same server. */
  async addSidecar(more: Readonly<Record<string, string>> = {}): Promise<DemoSidecar> {
    const flags = {
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      upstream: `http://127.0.0.1:${this.server.port}`,
      ...more,
    }
    const running = await this.#program.startSidecar(flags, this.#logger())
    const adminPort = running.admin!.port
    const metrics = async (): Promise<string> =>
      (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
    const sidecar = { port: running.listeners[0]!.port, adminPort, running, metrics }
    this.#sidecars.push(sidecar)
    return sidecar
  }

  async close(): Promise<void> {
    for (const { running } of this.#sidecars) await running.close()
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
