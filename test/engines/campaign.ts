import type { Engine } from '../../src/listener/front/front-options.ts'
import type { RulesFile } from '../../src/rules/file/schema.ts'
import { differences, type Difference } from './compare.ts'
import { Echo } from './echo.ts'
import { isNarrow, scriptsOf } from './generate/blocks.ts'
import { rulesFile } from './generate/rules.ts'
import { polite } from './polite.ts'
import { exchangesOf, type Script } from './script.ts'
import { shrink } from './shrink.ts'
import { Turns } from './turns.ts'
import { FalseValues } from '../../src/listener/falsified/false-values.ts'
import { Canaries } from '../../src/listener/faults/session-control.ts'
import { createPlanner } from '../../src/listener/faults/fault-planner.ts'
import { Sidecar } from '../../src/listener/sidecar.ts'
import type { SidecarOptions } from '../../src/listener/sidecar-options.ts'
import { Activity } from './activity.ts'
import { activate, SETTINGS } from './limits.ts'
import type { Observed } from './observed.ts'
import { Play } from './play.ts'
import { Recorder } from './recorder.ts'
import { ScriptedApp } from './scripted-app.ts'

export interface CampaignOptions {
  readonly engines: readonly [Engine, Engine]
  readonly seed: number
  /** About as many exchanges are made, with each engine. */
  readonly exchanges: number
  /** Blocks of scripts that are played at the same time. */
  readonly workers: number
  /** Plays every `of`th block, beginning with the block `share`. */
  readonly share?: number
  readonly of?: number
  /** Only this block is played. */
  readonly block?: number | undefined
}

export interface CampaignResult {
  readonly exchanges: number
  readonly scripts: number
  readonly differing: number
  /** The first of those. */
  readonly differences: readonly Difference[]
  /** Scripts that were played differently once, and not again. */
  readonly unsteady: readonly Difference[]
  /** Scripts in which the second engine read later what came too early, and that was all. */
  readonly later: number
  /** The number of scripts of each kind. */
  readonly kinds: Readonly<Record<string, number>>
}

/** A difference with the scripts that show it. */
interface Found {
  readonly difference: Difference
  readonly block: number
  readonly scripts: readonly Script[]
}

interface Pair {
  readonly stages: readonly [Stage, Stage]
  readonly narrow: boolean
}

const MOST_REPORTED = 40
const MOST_SHRUNK = 12
const TRIALS = 150
/** After so many something is wrong with everything. */
const ENOUGH = 200
/** A difference that appears twice in this many plays is not chance. */
const AGAIN = 6

/** Plays scripts with two engines and compares all that can be seen. */
export class Campaign {
  readonly #options: CampaignOptions
  readonly #turns = new Turns()
  readonly #rules: RulesFile = rulesFile()
  readonly #echo: Echo
  #found: Found[] = []
  readonly #unsteady: Difference[] = []
  readonly #kinds: Record<string, number> = {}
  #differing = 0
  #later = 0
  #exchanges = 0
  #scripts = 0
  #next: number

  private constructor(options: CampaignOptions, echo: Echo) {
    this.#options = options
    this.#echo = echo
    this.#next = options.block ?? options.share ?? 0
  }

  /** Plays all of a campaign. */
  static async run(options: CampaignOptions): Promise<CampaignResult> {
    const echo = await Echo.start()
    const campaign = new Campaign(options, echo)
    const workers = options.block === undefined ? options.workers : 1
    await Promise.all(Array.from({ length: workers }, () => campaign.#worker()))
    await campaign.#confirm()
    echo.stop()
    return {
      exchanges: campaign.#exchanges,
      scripts: campaign.#scripts,
      differing: campaign.#differing,
      differences: campaign.#found.map(({ difference }) => difference),
      unsteady: campaign.#unsteady,
      later: campaign.#later,
      kinds: campaign.#kinds,
    }
  }

  get #done(): boolean {
    return this.#exchanges >= this.#options.exchanges || this.#differing >= ENOUGH
  }

  async #worker(): Promise<void> {
    const { of = 1, block } = this.#options
    while (!this.#done) {
      const number = this.#next
      this.#next += of
      await this.#block(number)
      if (block !== undefined) return
    }
  }

  async #block(block: number): Promise<void> {
    const scripts = scriptsOf(this.#options.seed, block)
    let pair = await this.#start(block)
    for (const [index, script] of scripts.entries()) {
      const parts = await both(pair, script)
      this.#scripts++
      this.#exchanges += exchangesOf(script)
      this.#kinds[script.about] = (this.#kinds[script.about] ?? 0) + 1
      if (parts.length > 0) {
        // Whatever differed may go on to differ in what these two remember.
        await close(pair)
        await this.#look(block, index, scripts, parts)
        pair = await this.#start(block)
      }
      if (this.#done && this.#options.block === undefined) break
    }
    await close(pair)
  }

  /** Tells a difference between the engines from one between two moments. */
  async #look(
    block: number,
    index: number,
    scripts: readonly Script[],
    first: readonly string[],
  ): Promise<void> {
    const script = scripts[index]!
    const { seed } = this.#options
    let place = `SQUALL_TEST_SEED=${seed} SQUALL_ENGINES_BLOCK=${block}, script ${index}`
    if (await this.#waitsOnly(block, script)) {
      this.#later++
      return
    }
    let before = [script]
    let parts = await this.#again(block, before)
    if (parts === undefined) {
      place += ', only after those before it'
      before = scripts.slice(0, index + 1)
      parts = await this.#again(block, before)
      if (parts === undefined) {
        this.#unsteady.push({ place, script, parts: first })
        return
      }
    } else if (this.#found.length < MOST_SHRUNK) {
      const small = await this.#shrunk(block, script)
      const again = await this.#again(block, [small])
      if (again !== undefined) {
        this.#note({ difference: { place, script: small, parts: again }, block, scripts: [small] })
        return
      }
    }
    this.#note({ difference: { place, script, parts }, block, scripts: before })
  }

  #note(found: Found): void {
    this.#differing++
    if (this.#found.length < MOST_REPORTED) this.#found.push(found)
  }

  /** Replays what differed beside nothing else: on a busy machine times differ, not engines. */
  async #confirm(): Promise<void> {
    const all = this.#found
    this.#found = []
    for (const found of all) {
      const { block, scripts, difference } = found
      const parts = await this.#again(block, scripts)
      if (parts !== undefined) this.#found.push({ ...found, difference: { ...difference, parts } })
      else {
        this.#differing--
        this.#unsteady.push(difference)
      }
    }
  }

  async #shrunk(block: number, script: Script): Promise<Script> {
    const differs = async (candidate: Script): Promise<boolean> => {
      const pair = await this.#start(block)
      const parts = await both(pair, candidate)
      await close(pair)
      return parts.length > 0 && !(await this.#waitsOnly(block, candidate))
    }
    return shrink(script, differs, TRIALS)
  }

  /** True when the second engine does what the first one does where the client is more patient. */
  async #waitsOnly(block: number, script: Script): Promise<boolean> {
    for (const patient of polite(script)) {
      const pair = await this.#start(block)
      const parts = await both(pair, script, patient)
      await close(pair)
      if (parts.length === 0) return true
    }
    return false
  }

  /** Replays scripts, each time with new sidecars; returns the differences of the last, if any. */
  async #again(block: number, scripts: readonly Script[]): Promise<string[] | undefined> {
    let seen = 0
    for (let time = 0; time < AGAIN; time++) {
      const pair = await this.#start(block)
      let parts: string[] = []
      for (const script of scripts) parts = await both(pair, script)
      await close(pair)
      if (parts.length > 0 && ++seen === 2) return parts
    }
    return undefined
  }

  async #start(block: number): Promise<Pair> {
    const rules = block % 2 === 0 ? this.#rules : undefined
    const [one, other] = this.#options.engines
    const narrow = isNarrow(block)
    const settings = narrow ? { maxUpstreamConnections: 1 } : {}
    const parts = { settings, rules, turns: this.#turns, echo: this.#echo }
    const stages = [await startStage(one, parts), await startStage(other, parts)] as const
    return { stages, narrow }
  }
}

/** Returns the differences, with another script for the first engine. */
async function both(
  { stages: [one, other], narrow }: Pair,
  script: Script,
  first?: Script,
): Promise<string[]> {
  const [left, right] = await Promise.all([one.play(first ?? script), other.play(script)])
  return differences(left, right, { script, narrow, patient: first !== undefined })
}

async function close({ stages: [one, other] }: Pair): Promise<void> {
  await one.close()
  await other.close()
}

/** One engine with an upstream behind it. */
interface Stage {
  play(script: Script): Promise<Observed>
  close(): Promise<void>
}

/** The parts that all stages of a campaign share. */
interface StageParts {
  readonly settings: Partial<Pick<SidecarOptions, 'maxUpstreamConnections'>>
  readonly rules: RulesFile | undefined
  readonly turns: Turns
  readonly echo: Echo
}

/** Starts one engine, with rules or with none that could ever become active. */
async function startStage(
  engine: Engine,
  { settings, rules, turns, echo }: StageParts,
): Promise<Stage> {
  const activity = new Activity(turns, echo)
  const touch = (): void => activity.touch()
  const recorder = new Recorder(touch)
  const app = new ScriptedApp(touch)
  const appPort = await app.listen()
  const options: SidecarOptions = {
    ...SETTINGS,
    ...settings,
    engine,
    // The scripted upstream counts its connections.
    diagnose: false,
    pairs: [
      {
        listen: { kind: 'tcp', host: '127.0.0.1', port: 0 },
        upstream: { kind: 'tcp', tls: false, host: '127.0.0.1', port: appPort },
      },
    ],
  }
  const faults = rules && {
    rules: activate(rules),
    listenerOf: () => recorder.faults,
    canaries: new Canaries(),
    falseValues: new FalseValues(() => undefined),
    createPlanner,
  }
  const { telemetry, logger } = recorder
  const sidecar = new Sidecar(options, { telemetry, logger, faults })
  const [bound] = await sidecar.listen()
  return {
    play: async (script) => {
      const play = new Play({ script, port: bound!.port, app, recorder, activity })
      await turns.run(play)
      return play.observed()
    },
    close: async () => {
      await sidecar.close()
      await app.close()
    },
  }
}
