import type { GaugeName } from '../../src/telemetry/telemetry.ts'
import type { Activity } from './activity.ts'
import type { AppSeen, ClientSeen, Observed } from './observed.ts'
import type { Recorder } from './recorder.ts'
import type { Script } from './script.ts'
import type { ScriptedApp } from './scripted-app.ts'
import { ScriptedClient, type ClientHost } from './scripted-client.ts'
import type { Runner } from './turns.ts'

/** Everything that must be back at nothing when the last connection has ended. */
const TRANSIENT: readonly GaugeName[] = [
  'client_connections',
  'upstream_connections',
  'request_streams',
  'push_streams',
  'tunnels',
]
/** In milliseconds. Nothing takes as long by itself, however busy the machine. */
const TOO_LONG = 20_000
/** In a stage whose gauges do not come down there would be no end. */
const PATIENCE = 200

/** The parts of a play. */
export interface PlayParts {
  readonly script: Script
  readonly port: number
  readonly app: ScriptedApp
  readonly recorder: Recorder
  readonly activity: Activity
}

/** One script on one stage, from the first connection to the end of the last. */
export class Play implements Runner, ClientHost {
  readonly #parts: PlayParts
  readonly #seen: ClientSeen[] = []
  #client: ScriptedClient | undefined
  #steps = 0
  #app: AppSeen[] | undefined
  #busy = false
  readonly #startedAt = performance.now()
  #finishedAt = 0
  #left: string[] = []

  constructor(parts: PlayParts) {
    this.#parts = parts
    parts.activity.begin(parts.script.slow)
    parts.app.begin(parts.script.responses, () => this.#steps)
  }

  turn(): boolean {
    this.#busy = this.#parts.app.turn()
    if (performance.now() - this.#startedAt > TOO_LONG) return this.#giveUp()
    if (this.#app !== undefined) return this.#settled()
    const { clients } = this.#parts.script
    this.#client ??= this.#next(clients[this.#seen.length])
    if (this.#client === undefined) return this.#finish()
    if (!this.#client.turn()) return false
    this.#seen.push(this.#client.seen())
    this.#client = undefined
    return false
  }

  observed(): Observed {
    const told = this.#parts.recorder.take()
    return { clients: this.#seen, app: this.#app!, told, left: this.#left }
  }

  touch(): void {
    this.#parts.activity.touch()
  }

  isQuiet(): boolean {
    return !this.#busy && this.#parts.activity.quiet
  }

  appHeads(): number {
    return this.#parts.app.heads
  }

  stepDone(): void {
    this.#steps++
  }

  #next(steps: Script['clients'][number] | undefined): ScriptedClient | undefined {
    return steps && new ScriptedClient(this.#parts.port, steps, this)
  }

  /** All clients have left, and the effects have reached the upstream. */
  #finish(): boolean {
    if (!this.isQuiet()) return false
    this.#app = this.#parts.app.seen()
    this.#parts.app.finish()
    this.touch()
    this.#finishedAt = performance.now()
    return false
  }

  /** Something goes on and on. */
  #giveUp(): boolean {
    const { app } = this.#parts
    this.#client?.destroy()
    if (this.#client !== undefined) this.#seen.push(this.#client.seen())
    this.#app ??= app.seen()
    this.#left = ['it has no end', this.#busy ? 'the upstream is busy' : 'the upstream is idle']
    app.destroy()
    return true
  }

  /** True when nothing is open any more, or never will end. */
  #settled(): boolean {
    const { app, recorder } = this.#parts
    const left = recorder.left(TRANSIENT)
    const closed = app.allClosed
    if (closed && left.length === 0) return true
    if (!this.isQuiet() || performance.now() - this.#finishedAt < PATIENCE) return false
    this.#left = closed ? left : [...left, 'a connection to the upstream']
    app.destroy()
    return true
  }
}
