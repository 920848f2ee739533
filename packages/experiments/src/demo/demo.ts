import { asInvoked, interruption } from '#base'
import type { Check, Phase } from './phase.ts'
import { clean, twoPercent, withRetries } from './phases/load-phases.ts'
import { editedLive } from './phases/edited-live.ts'
import { life } from './phases/life.ts'
import { transparency } from './phases/transparency.ts'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Played, showEnd } from './end-screen.ts'
import { DemoScreen } from './screen.ts'
import { openStage, type Stage } from './stage.ts'
import { writeReport } from '../report/write-report.ts'
import { runLoad } from '../load/run-load.ts'
import { optionsOf } from './demo-load.ts'
import { SLOW_SEARCH } from './rules-texts.ts'

/** Configures `squall demo`. */
export interface DemoOptions {
  /** Prints the results as JSON, and nothing else. */
  readonly json: boolean
  /** Keeps MCP server and sidecar running until a signal. */
  readonly stay: boolean
  /** The file for the report. */
  readonly report: string | undefined
}

/** The phases of the demo in their order. */
export const PHASES: readonly Phase[] = [
  transparency,
  clean,
  twoPercent,
  withRetries,
  editedLive,
  life,
]

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const TOO_LONG_MS = 60_000

/** Runs the demo; resolves to the exit code, which is 1 when a check failed. */
export async function demo(options: DemoOptions, version: string): Promise<number> {
  const { stdout } = process
  // A reader such as head closes the pipe early.
  stdout.on('error', () => {})
  const screen = new DemoScreen(options.json ? undefined : stdout)
  const stopped = new Promise<'SIGINT' | 'SIGTERM'>((resolve) => {
    interruption(1, SIGNALS, (signal) => resolve(signal as (typeof SIGNALS)[number]))
  })
  const startedAt = performance.now()
  const stage = await openStage(version)
  try {
    const played = await Promise.race([play(stage, screen), stopped, tooLong()])
    if (typeof played === 'string') {
      screen.line(`   stopped by ${played}`)
      return 128 + constants.signals[played]
    }
    const seconds = (performance.now() - startedAt) / 1000
    const checks = checksOf(played, stage)
    const failed = checks.filter(({ ok }) => !ok)
    const addresses = options.stay ? addressesOf(stage) : undefined
    const report = await writeDemoReport(options, played)
    showEnd(screen, played, { seconds, stays: options.stay, report })
    if (options.json) {
      const found = { ...resultOf(stage, played, checks, seconds), ...(report && { report }) }
      stdout.write(`${JSON.stringify({ ...found, ...(addresses && { addresses }) }, short)}\n`)
    }
    for (const { what } of failed) process.stderr.write(`squall: demo: check failed: ${what}\n`)
    for (const text of stage.ownErrors) process.stderr.write(`squall: demo: ${text}\n`)
    if (addresses !== undefined) await stay(stage, screen, addresses, stopped)
    return failed.length === 0 ? 0 : 1
  } finally {
    await stage.close()
  }
}

async function stay(
  stage: Stage,
  screen: DemoScreen,
  addresses: Addresses,
  stopped: Promise<unknown>,
): Promise<void> {
  showAddresses(screen, addresses)
  const stop = new AbortController()
  const going = gentleLoad(stage, stop.signal)
  await Promise.race([stopped, going])
  stop.abort()
  await going
}

/** Writes the report to the given file, or to a temporary file; returns its path. */
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
  // Other users can write to this directory: `wx` follows no link that they have put there.
  await writeFile(file, demoReport(played), { flag: 'wx', mode: 0o600 })
  return file
}

/** Rejects after the time limit: a call got no response. */
async function tooLong(): Promise<never> {
  await wait(TOO_LONG_MS, undefined, { ref: false })
  throw new Error(`the demo did not finish within ${TOO_LONG_MS / 1000} s`)
}

/** Rounds the numbers of JSON to four decimals. */
export function short(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toFixed(4)) : value
}

async function play(stage: Stage, screen: DemoScreen): Promise<Played[]> {
  screen.line(screen.paint('strong', `squall ${stage.version} demo`))
  screen.line('An MCP server behind Squall, and clients, all on this machine.')
  const played: Played[] = []
  for (const [i, phase] of PHASES.entries()) {
    screen.line()
    screen.line(screen.paint('strong', `${i + 1}/${PHASES.length} ${phase.title}`))
    played.push({ phase, result: await phase.run(stage, screen) })
  }
  screen.line()
  return played
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

/** Formats the loads of the demo as a report. */
function demoReport(played: readonly Played[]): string {
  const runs = played.flatMap(({ result }) => (result.run === undefined ? [] : [result.run]))
  const checks = played.flatMap(({ result }) => result.checks)
  const passed = checks.filter(({ ok }) => ok).length
  const titleOf = (column: string): string => `${column[0]!.toUpperCase()}${column.slice(1)}`
  return writeReport(
    runs.map(({ column, about, result }) => ({ title: titleOf(column), about, result })),
    {
      title: 'Squall demo',
      notes: [
        'Four loads on the same MCP server, behind Squall, on one machine. Server, sidecar and clients share one thread, so the latencies include the work of all three.',
        `${passed} of ${checks.length} checks passed: client results, Squall’s counts and the server script were compared call by call.`,
      ],
    },
  )
}

type Addresses = Readonly<Record<'app' | 'squall' | 'page' | 'metrics' | 'rules', string>>

const PER_SECOND = 40

/** Returns the addresses and files that stay in use. */
function addressesOf({ server, sidecar, target, rulesFile }: Stage): Addresses {
  const at = (port: number, path: string): string => `http://127.0.0.1:${port}${path}`
  return {
    app: at(server.port, '/mcp'),
    squall: target.url.href,
    page: at(sidecar.admin!.port, '/'),
    metrics: at(sidecar.admin!.port, '/metrics'),
    rules: rulesFile,
  }
}

/** Shows the addresses and files, and what to try. */
function showAddresses(screen: DemoScreen, { app, squall, page, rules }: Addresses): void {
  const strong = (text: string): string => screen.paint('strong', text)
  screen.line()
  screen.line(` page    ${strong(page)}`)
  screen.line(` rules   ${strong(rules)}`)
  screen.line(` Squall  ${squall}`)
  screen.line(` server  ${app}`)
  screen.line()
  screen.line(
    ` ${PER_SECOND} calls per second continue, and the server sometimes fails on its own.`,
  )
  screen.line(' Open the page, change a percent: in the rules file, save it, and watch the page.')
  screen.line(asInvoked(` Or in a terminal:  squall top ${new URL(page).host}`))
  screen.line()
  screen.line(' Ctrl-C stops everything.')
}

/** Runs a gentle load until it is stopped. */
async function gentleLoad(stage: Stage, stop: AbortSignal): Promise<void> {
  stage.server.failing = true
  await stage.edit(SLOW_SEARCH)
  const options = optionsOf(stage, { seed: 1, durationMs: 0 })
  const { durationMs: _, ...pace } = options.pace
  await runLoad({ ...options, pace: { ...pace, rate: PER_SECOND } }, { stop, cut: stop })
}
