import { assemble, type Running } from '../cli/assemble.ts'
import { parseRunOptions } from '../cli/run-options.ts'
import type { Logger } from '../telemetry/log.ts'
import { DemoApp } from './demo-app.ts'
import { tallyOf } from './scrape.ts'
import type { Tally } from './tally.ts'

/** What an answer of the admin port was. */
export interface AdminPage {
  readonly status: number
  readonly text: string
}

/** A sidecar in front of the demo's app, with the defaults of `squall run`. */
export interface DemoSidecar {
  readonly port: number
  readonly adminPort: number
  readonly running: Running
  admin(path: string): Promise<AdminPage>
  /** What its /metrics says about tool calls. */
  tally(): Promise<Tally>
}

/** What the phases play on: the app, and Squall in front of it. */
export class Stage {
  readonly app = new DemoApp()
  /** Errors that Squall logged about itself: none are expected. */
  readonly ownErrors: string[] = []
  readonly #sidecars: DemoSidecar[] = []

  static async open(): Promise<Stage> {
    const stage = new Stage()
    await stage.app.start()
    await stage.addSidecar()
    return stage
  }

  /** The sidecar that stands from the first phase to the last. */
  get sidecar(): DemoSidecar {
    return this.#sidecars[0]!
  }

  /** One more sidecar in front of the same app, for what would end the first. */
  async addSidecar(more: Readonly<Record<string, string>> = {}): Promise<DemoSidecar> {
    const flags = new Map([
      ['listen', ['127.0.0.1:0']],
      ['admin', ['127.0.0.1:0']],
      ['upstream', [`http://127.0.0.1:${this.app.port}`]],
      ...Object.entries(more).map(([name, value]) => [name, [value]] as const),
    ])
    const running = await assemble(parseRunOptions(flags, {}), this.#logger())
    const adminPort = running.admin!.port
    const admin = async (path: string): Promise<AdminPage> => {
      const answer = await fetch(`http://127.0.0.1:${adminPort}${path}`)
      return { status: answer.status, text: await answer.text() }
    }
    const sidecar: DemoSidecar = {
      port: running.listeners[0]!.port,
      adminPort,
      running,
      admin,
      tally: async () => tallyOf((await admin('/metrics')).text),
    }
    this.#sidecars.push(sidecar)
    return sidecar
  }

  async close(): Promise<void> {
    for (const { running } of this.#sidecars) await running.close()
    await this.app.stop()
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
