import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { DemoOptions, DemoProgram } from './demo-options.ts'
import { type Played, showEnd } from './end-screen.ts'
import type { Check } from './phase.ts'
import { PHASES } from './phases/index.ts'
import { Screen } from './screen.ts'
import { Stage } from './stage.ts'
import { goOn, type Places, placesOf, showPlaces } from './stay.ts'
import { writeReport } from '../report/write-report.ts'

const TOO_LONG_MS = 60_000
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Plays the demo; the result is the exit code: 1 when anything was not as it should be. */
export async function demo(options: DemoOptions, program: DemoProgram): Promise<number> {
  const { stdout } = process
  // A reader that has seen enough, such as head, is no failure.
  stdout.on('error', () => {})
  const screen = new Screen(options.json ? undefined : stdout, process.env)
  const stopped = stopSignal()
  const startedAt = performance.now()
  const stage = await Stage.open(program)
  try {
    const played = await Promise.race([play(stage, screen), stopped, tooLong()])
    if (typeof played === 'string') {
      screen.line(`   stopped by ${played}`)
      return 128 + constants.signals[played]
    }
    const seconds = (performance.now() - startedAt) / 1000
    const checks = checksOf(played, stage)
    const failed = checks.filter(({ ok }) => !ok)
    const places = options.stay ? placesOf(stage) : undefined
    const report = await writeDemoReport(options, played)
    showEnd(screen, played, { seconds, stays: options.stay, report })
    if (options.json) {
      const found = { ...resultOf(stage, played, checks, seconds), ...(report && { report }) }
      stdout.write(`${JSON.stringify({ ...found, ...(places && { places }) }, short)}\n`)
    }
    for (const { what } of failed) process.stderr.write(`squall: demo: not so: ${what}\n`)
    for (const text of stage.ownErrors) process.stderr.write(`squall: demo: ${text}\n`)
    if (places !== undefined) await stay(stage, screen, places, stopped)
    return failed.length === 0 ? 0 : 1
  } finally {
    await stage.close()
  }
}

async function stay(
  stage: Stage,
  screen: Screen,
  places: Places,
  stopped: Promise<unknown>,
): Promise<void> {
  showPlaces(screen, places)
  const stop = new AbortController()
  const going = goOn(stage, stop.signal)
  await Promise.race([stopped, going])
  stop.abort()
  await going
}

/** Where it is said, or else in a place that nobody has to clean up. */
async function writeDemoReport(
  { json, report }: DemoOptions,
  played: readonly Played[],
): Promise<string | undefined> {
  if (report !== undefined) {
    await writeFile(report, demoReport(played))
    return report
  }
  if (json) return undefined
  const file = join(tmpdir(), `squall-demo-${randomBytes(3).toString('hex')}.html`)
  // Others can write there as well: never through a link that somebody has put in place.
  await writeFile(file, demoReport(played), { flag: 'wx', mode: 0o600 })
  return file
}

/** Some call was never answered: better a message than to stand still. */
async function tooLong(): Promise<never> {
  await wait(TOO_LONG_MS, undefined, { ref: false })
  throw new Error(`the demo did not end within ${TOO_LONG_MS / 1000} s`)
}

/** Measured numbers are not better for having fifteen digits. */
function short(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toFixed(4)) : value
}

async function play(stage: Stage, screen: Screen): Promise<Played[]> {
  screen.line(screen.paint('strong', `squall ${stage.version} demo`))
  screen.line('An MCP server, Squall in front of it, and clients, all on this machine.')
  const played: Played[] = []
  for (const [i, phase] of PHASES.entries()) {
    screen.line()
    screen.line(screen.paint('strong', `${i + 1}/${PHASES.length} ${phase.title}`))
    played.push({ phase, result: await phase.run(stage, screen) })
  }
  screen.line()
  return played
}

/** Resolves with the first signal; the second ends at once. */
function stopSignal(): Promise<(typeof SIGNALS)[number]> {
  return new Promise((resolve) => {
    let asked = false
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (asked) process.exit(1)
        asked = true
        resolve(signal)
      })
    }
  })
}

function checksOf(played: readonly Played[], { ownErrors }: Stage): Check[] {
  const own = { what: 'Squall logged no error of its own', ok: ownErrors.length === 0 }
  return [...played.flatMap(({ result }) => result.checks), own]
}

function resultOf(
  stage: Stage,
  played: readonly Played[],
  checks: readonly Check[],
  seconds: number,
): object {
  return {
    version: stage.version,
    ok: checks.every(({ ok }) => ok),
    seconds,
    checks,
    phases: Object.fromEntries(played.map(({ phase, result }) => [phase.key, result.numbers])),
  }
}

/** The loads of the demo as a report. */
function demoReport(played: readonly Played[]): string {
  const runs = played.flatMap(({ result }) => (result.run === undefined ? [] : [result.run]))
  const checks = played.flatMap(({ result }) => result.checks)
  const held = checks.filter(({ ok }) => ok).length
  return writeReport(
    runs.map(({ column, about, result }) => ({ title: titleOf(column), about, result })),
    {
      title: 'Squall demo',
      notes: [
        'Four loads of the same MCP server on one machine, with Squall in front of it. App, sidecar and clients share one thread: the latencies are those of all three.',
        `${held} of ${checks.length} checks held: what clients saw, what Squall counted and what the app did by its script was compared, call by call.`,
      ],
    },
  )
}

function titleOf(column: string): string {
  return `${column[0]!.toUpperCase()}${column.slice(1)}`
}
