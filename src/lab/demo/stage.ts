import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RulesVersion } from '../../rules/file/rules-version.ts'
import type { Logger } from '../../telemetry/log.ts'
import { DemoApp } from './demo-app.ts'
import type { DemoProgram, StartedSidecar } from './demo-options.ts'

/** A rules file that is edited while traffic passes, as editors do it: a new file takes the name. */
export class LiveRules {
  readonly file: string
  readonly #directory: string

  private constructor(directory: string) {
    this.#directory = directory
    this.file = join(directory, 'rules.yaml')
  }

  static async open(): Promise<LiveRules> {
    return new LiveRules(await mkdtemp(join(tmpdir(), 'squall-demo-')))
  }

  async write(text: string): Promise<void> {
    await writeFile(`${this.file}.new`, text)
    await rename(`${this.file}.new`, this.file)
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true })
  }
}

/** A response of the admin port. */
export interface AdminPage {
  readonly status: number
  readonly text: string
}

/** A sidecar in front of the demo's app, with the defaults of `squall run`. */
export interface DemoSidecar {
  readonly port: number
  readonly adminPort: number
  readonly running: StartedSidecar
  admin(path: string): Promise<AdminPage>
}

/** An edit of the rules file, and what became of it. */
export interface Edit {
  /** From the moment at which the file was saved. */
  readonly takenMs: number
  readonly version: RulesVersion
}

/** Runs the app, and Squall in front of it with a rules file. */
export class Stage {
  readonly app = new DemoApp()
  /** Errors that Squall logged about itself: none are expected. */
  readonly ownErrors: string[] = []
  readonly #sidecars: DemoSidecar[] = []
  #rules: LiveRules | undefined
  #text: string | undefined
  readonly #program: DemoProgram

  constructor(program: DemoProgram) {
    this.#program = program
  }

  static async open(program: DemoProgram): Promise<Stage> {
    const stage = new Stage(program)
    try {
      stage.#rules = await LiveRules.open()
      await stage.app.start()
      // The app of this demo fails more often than any guard would bear.
      await stage.addSidecar({ rules: stage.rules.file, 'guard-error-rate': 'off' })
    } catch (error) {
      await stage.close()
      throw error
    }
    return stage
  }

  /** The sidecar that stands from the first phase to the last. */
  get sidecar(): DemoSidecar {
    return this.#sidecars[0]!
  }

  /** The version of Squall. */
  get version(): string {
    return this.#program.version
  }

  /** Its rules file. */
  get rules(): LiveRules {
    return this.#rules!
  }

  /** Saves a version of the rules; resolves when it was taken or refused. */
  async edit(text: string): Promise<Edit> {
    const isActive = this.sidecar.running.rules!
    const before = isActive.last
    // Unchanged text is not read again.
    if (text === this.#text && before !== undefined) return { takenMs: 0, version: before.version }
    this.#text = text
    await this.rules.write(text)
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

  /** One more sidecar in front of the same app. */
  async addSidecar(more: Readonly<Record<string, string>> = {}): Promise<DemoSidecar> {
    const flags = {
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      upstream: `http://127.0.0.1:${this.app.port}`,
      ...more,
    }
    const running = await this.#program.startSidecar(flags, this.#logger())
    const adminPort = running.admin!.port
    const admin = async (path: string): Promise<AdminPage> => {
      const response = await fetch(`http://127.0.0.1:${adminPort}${path}`)
      return { status: response.status, text: await response.text() }
    }
    const sidecar = { port: running.listeners[0]!.port, adminPort, running, admin }
    this.#sidecars.push(sidecar)
    return sidecar
  }

  async close(): Promise<void> {
    for (const { running } of this.#sidecars) await running.close()
    await this.app.stop()
    await this.#rules?.remove()
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
