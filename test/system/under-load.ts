import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type SidecarProcess, startSidecar } from '../support/wire.ts'
import { INJECTED_NODE_OPTIONS } from '../support/wire/sidecar-process.ts'

/** A sidecar under load, and how long the load lasts. */
export interface Load {
  readonly squall: SidecarProcess
  /** Also true when the sidecar has ended. */
  readonly isOver: () => boolean
}

export interface LoadOptions {
  readonly upstream: string
  readonly engine: string
  readonly seconds: number
  /** The load ends by itself, within `seconds`: on a busy machine it takes longer. */
  readonly endsItself?: true
  /** The text of a rules file. */
  readonly rules?: string
  readonly flags?: readonly string[]
  /**
   * Turns are measured from this many milliseconds on, as first calls run code that is not compiled
   * yet.
   */
  readonly turnsAfter?: number
}

/** The state of a sidecar under load. */
export interface UnderLoad {
  /** The exit code or signal of a sidecar that ended too early; undefined if it did not. */
  readonly died: number | string | null | undefined
  /** In bytes. */
  readonly peak: number
  /**
   * In milliseconds: the longest wait for `/livez`, and the 99th percentile, on an idle machine.
   */
  readonly slowest: number
  readonly p99: number
  /** In milliseconds of CPU: the longest turn of the sidecar's event loop; 0 when it died. */
  readonly longestTurn: number
  /** The bytes that the budget still counts when everything is over. */
  readonly left: string
}

const LONGEST_TURN = new URL('./longest-turn.mjs', import.meta.url).href

/** Runs a load against a sidecar in its own process, with the memory that injection gives it. */
export async function underLoad(
  { upstream, engine, seconds, endsItself, rules, flags = [], turnsAfter = 0 }: LoadOptions,
  load: (load: Load) => Promise<void>,
): Promise<UnderLoad> {
  const directory = mkdtempSync(join(tmpdir(), 'squall-'))
  const file = join(directory, 'rules.yaml')
  if (rules !== undefined) writeFileSync(file, rules)
  const ruled = rules === undefined ? [] : ['--rules', file]
  const turns = join(directory, 'longest-turn')
  const squall = await startSidecar({
    upstream,
    process: {
      flags: [...ruled, '--engine', engine, ...flags],
      nodeOptions: `${INJECTED_NODE_OPTIONS} --import ${LONGEST_TURN}`,
      env: {
        SQUALL_TEST_LONGEST_TURN: turns,
        ...(turnsAfter > 0 && { SQUALL_TEST_TURNS_AFTER: String(turnsAfter) }),
      },
    },
  })
  if (turnsAfter === 0) process.kill(squall.pid, 'SIGUSR2')
  let died: UnderLoad['died']
  void squall.ended.then((how) => (died = how))
  const watch = { peak: 0, waits: [] as number[] }
  const end = performance.now() + seconds * 1000
  let hasEnded = false
  const isOver = (): boolean => hasEnded || performance.now() > end || died !== undefined
  const loaded = async (): Promise<void> => {
    await load({ squall, isOver })
    hasEnded = endsItself === true
  }
  try {
    await Promise.all([loaded(), look(squall, watch, isOver)])
    const left = died === undefined ? await settled(squall) : ''
    const survived = died
    const waits = watch.waits.toSorted((a, b) => a - b)
    await squall.stop()
    return {
      died: survived,
      peak: watch.peak,
      slowest: waits.at(-1) ?? 0,
      p99: waits[Math.floor(waits.length * 0.99)] ?? 0,
      longestTurn: survived === undefined ? (longestTurns(turns)[0] ?? 0) : 0,
      left,
    }
  } finally {
    await squall.stop()
    rmSync(directory, { recursive: true })
  }
}

/** Reads what longest-turn.mjs has written. */
export function longestTurns(file: string): readonly number[] {
  return JSON.parse(readFileSync(file, 'utf8')) as number[]
}

/** A thread of its own: this one is busy with the attacks. */
const HEALTH_WAITS = new URL('./health-waits.mjs', import.meta.url)

async function look(
  squall: SidecarProcess,
  watch: { peak: number; readonly waits: number[] },
  isOver: () => boolean,
): Promise<void> {
  const { admin, pid } = squall
  const worker = new Worker(HEALTH_WAITS, { workerData: { admin, pid } })
  worker.on('error', () => undefined)
  worker.on('message', (wait: number) => watch.waits.push(wait))
  while (!isOver()) {
    await sleep(20)
    watch.peak = Math.max(watch.peak, rssOf(squall))
  }
  await worker.terminate()
}

/** Returns what is still counted as held; waits, as connections end one by one. */
async function settled(squall: SidecarProcess): Promise<string> {
  let held = ''
  for (let tries = 0; tries < 200; tries++) {
    held = /^squall_memory_held_bytes .*$/m.exec(await squall.metrics())?.[0] ?? ''
    if (held.endsWith(' 0')) break
    await sleep(50)
  }
  return held
}

/** Nothing for one that is gone. */
function rssOf(squall: SidecarProcess): number {
  try {
    return squall.rss()
  } catch {
    return 0
  }
}
