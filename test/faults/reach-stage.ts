import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { CallWatch } from '../../src/telemetry/call-watch.ts'
import type { CallLine } from '../../src/telemetry/call-line.ts'
import { rule } from '../rules/facts.ts'
import { metricValue, type RuleStage, type RunningSidecar, startSidecar } from '../support/wire.ts'
import type { Form } from './forms.ts'
import { ReachApp, traceOf } from './reach-app.ts'
import type { ReachKind, Variant } from './reach-kind.ts'

/** One fault meets one message. */
export interface Cell {
  readonly form: Form
  readonly kind: ReachKind
  readonly how: Variant
  /** True for a fault that needs an earlier call of this kind. */
  readonly twice: boolean
}

/** The result of a cell. */
export interface Met {
  /** `acts`, or the reason for which the fault did not. */
  readonly what: string
  /** The calls that ended. */
  readonly calls: readonly CallLine[]
}

/** A larger response is not read. */
export const MAX_BODY = 32 * 1024

/** On a machine that is busy, many plays at once take their time. */
const PATIENCE = { timeout: 30_000, interval: 20 }

/** So many cells are played at once. */
const AT_ONCE = 250

/** True for a fault that keeps the clients of other cells out. */
const isAlone = ({ form }: Cell): boolean => form.text.includes('refuse')

/** Tells what came of a cell from its rule. */
export function metIn(stage: RuleStage, name: string, index: number): string {
  if (stage.injected.some((each) => each.rule === name)) return 'acts'
  const { reason } = stage.notApplicable.find((each) => each.rule === name) ?? {}
  return reason ?? (stage.counts(index).within_limit > 0 ? 'within_limit' : 'nothing_to_act_on')
}

/** Returns the number of plays whose rule has a result. */
export function endedIn(stage: RuleStage, index: number): number {
  const { injected, not_applicable, not_reached, within_limit } = stage.counts(index)
  return injected + not_applicable + not_reached + within_limit
}

/** A sidecar, the server behind it, and the clients of many cells at once. */
export class ReachStage {
  readonly #app: ReachApp
  readonly #squall: RunningSidecar
  readonly #calls: CallLine[] = []
  #count = 0
  #resumable = 0

  private constructor(app: ReachApp, squall: RunningSidecar, watch: CallWatch) {
    this.#app = app
    this.#squall = squall
    watch.read((line) => void this.#calls.push(line))
  }

  static async open(): Promise<ReachStage> {
    const app = new ReachApp()
    const watch = new CallWatch()
    const options = { upstream: app.listener, rules: [], maxBody: MAX_BODY, watch }
    return new ReachStage(app, await startSidecar(options), watch)
  }

  /** Plays cells; returns what came of each. */
  async play(cells: readonly Cell[]): Promise<readonly Met[]> {
    const met: Met[] = []
    for (let at = 0; at < cells.length;) {
      const end = cells.slice(at, at + AT_ONCE).findIndex((cell) => isAlone(cell))
      const size = end === -1 ? AT_ONCE : Math.max(1, end)
      met.push(...(await this.#playAtOnce(cells.slice(at, at + size))))
      at += size
    }
    return met
  }

  async close(): Promise<void> {
    this.#app.close()
    await this.#squall.close()
  }

  async #playAtOnce(cells: readonly Cell[]): Promise<readonly Met[]> {
    const stage = this.#squall.faults!
    for (const list of [stage.injected, stage.notApplicable, stage.broken]) list.length = 0
    this.#calls.length = 0
    const named = cells.map((cell) => ({ ...cell, name: `c${this.#count++}` }))
    stage.take(
      named.map(({ form, kind, name }) => ({
        ...rule({ match: { ...kind.match, headers: { 'x-cell': name } }, name }),
        faults: [form.use],
      })),
    )
    // Many rules become active a little later.
    await expect.poll(() => stage.rules.ruleSet.rules[0]?.name, PATIENCE).toBe(named[0]!.name)
    const play = async (times: number, isMeant: (cell: Cell) => boolean): Promise<void> => {
      for (const cell of named.filter(isMeant)) {
        const { kind, how, name } = cell
        void this.#app.play(this.#squall.port, name, kind.play(how)).catch((error: unknown) => {
          if (!isAlone(cell)) throw error
        })
      }
      const open = (): readonly string[] => {
        const acted = new Set(stage.injected.map((each) => each.rule))
        return named.flatMap((cell, index) => {
          const { form, kind, how, name } = cell
          if (!isMeant(cell) || acted.has(name) || endedIn(stage, index) >= times) return []
          return [`${form.text} on ${kind.message} on ${kind.transport}, ${how}`]
        })
      }
      await expect.poll(open, PATIENCE).toEqual([])
    }
    await play(1, () => true)
    if (named.some(({ twice }) => twice)) await play(2, ({ twice }) => twice)
    expect(stage.broken).toEqual([])
    await this.#endsOf(named.filter(({ kind }) => kind.unread).map(({ name }) => name))
    this.#app.close()
    if (cells.some(isAlone)) await sleep(10)
    const open = async (): Promise<number> =>
      metricValue(await this.#squall.metrics(), 'squall_in_flight_requests')
    // A call whose stream can be resumed stays open.
    this.#resumable += named.filter(({ kind }) => kind.on === 'resumed').length
    await expect.poll(open, PATIENCE).toBeLessThanOrEqual(this.#resumable)
    return named.map(({ name }, index) => ({
      what: metIn(stage, name, index),
      calls: this.#calls.filter(({ trace }) => trace === traceOf(name)),
    }))
  }

  /** Waits a little until the calls of these cells have ended: some faults hold them for ever. */
  async #endsOf(names: readonly string[]): Promise<void> {
    const isOpen = (name: string): boolean =>
      !this.#calls.some(({ trace }) => trace === traceOf(name))
    for (let tries = 0; tries < 50 && names.some(isOpen); tries++) await sleep(10)
  }
}
