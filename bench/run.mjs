import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { judged, verdictLine, verdictTable } from './bars.mjs'
import { writeCharts } from './charts.mjs'
import { endChildrenWithThisProcess } from './lib/children.mjs'
import { writeBlock } from './lib/markdown.mjs'
import { USAGE, parseOptions } from './lib/options.mjs'
import { machineLine } from './lib/report.mjs'
import { soundness } from './lib/sound.mjs'
import { peersNamed } from './peers/index.mjs'

const ROUNDS = 5
const SECONDS = 2

/** @param {string} line */
const say = (line) => void process.stdout.write(`${line}\n`)

/**
 * @typedef {import('./sections/index.mjs').Outcome & { section: string, title: string,
 *   verdicts: import('./bars.mjs').Verdict[] }} Outcome
 */

/**
 * Answers one question of the bench, with those of its peers that are asked for.
 * @param {import('./sections/index.mjs').Section} section
 * @param {import('./lib/options.mjs').Options} options
 * @param {import('./sections/index.mjs').Session} session
 * @returns {Promise<Outcome | undefined>}
 */
async function responded(section, options, session) {
  const own = peersNamed(section.peers)
  const asked = options.peers ?? own
  // In a run of everything, the peers that are named are meant where they take part.
  const peers = options.all ? asked.filter((peer) => own.includes(peer)) : asked
  if (peers.length === 0) return undefined
  say(`\n== ${section.title} (${section.name})`)
  const began = performance.now()
  const plan = {
    peers,
    rounds: options.rounds ?? section.rounds ?? ROUNDS,
    seconds: options.seconds ?? section.seconds ?? SECONDS,
    connections: options.connections,
  }
  const outcome = await section.run(session, plan).catch((error) => {
    // The rest of a long run is not lost with it.
    say(`${section.name} FAILED: ${error instanceof Error ? error.message : String(error)}`)
    session.failed.push(section.name)
    process.exitCode = 2
  })
  if (outcome === undefined) return undefined
  say(`${section.name} took ${((performance.now() - began) / 1000).toFixed(0)} s`)
  const { name, title } = section
  return { section: name, title, ...outcome, verdicts: judged(name, outcome.rows) }
}

/** @param {Outcome} outcome @param {string} machine */
function blockOf(outcome, machine) {
  const tables = outcome.tables.filter((text) => text !== '')
  return [`## ${outcome.title}`, outcome.about, `Machine: ${machine}.`, ...tables]
}

/** Puts a section's table into the Markdown file, and its charts beside it. */
/** @param {string} md @param {Outcome} outcome @param {string} machine */
function writeSection(md, outcome, machine) {
  const pictures = writeCharts(md, outcome.section, outcome.rows)
  const [title = '', about = '', ...rest] = blockOf(outcome, machine)
  writeBlock(md, outcome.section, [title, about, ...pictures, ...rest].join('\n\n'))
}

/** Describes what is missing from a run, and why. */
/** @param {readonly { name: string, reason: string }[]} without @param {readonly string[]} failed */
function missingFrom(without, failed) {
  const peers = without.map(({ name, reason }) => `${name} (${reason})`).join('; ')
  return [
    ...(peers === '' ? [] : [`Not timed: ${peers}.`]),
    ...(failed.length === 0 ? [] : [`Not measured, as their run failed: ${failed.join(', ')}.`]),
  ]
}

/** Returns the command line that repeats the run, without options that only name locations. */
/** @param {readonly string[]} args */
function commandLine(args) {
  const places = ['--json', '--squall']
  const given = args.filter(
    (arg, i) => !places.includes(arg) && !places.includes(args[i - 1] ?? ''),
  )
  return ['npm run bench', ...(given.length > 0 ? ['--'] : []), ...given].join(' ')
}

async function main() {
  const options = parseOptions(process.argv.slice(2))
  if (options.help) {
    say(USAGE)
    return
  }
  endChildrenWithThisProcess()
  const directory = mkdtempSync(join(tmpdir(), 'squall-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const { squallMain, rulesFile, rate, streams } = options
  const setting = { directory, squallMain, rulesFile, say }
  /** @type {string[]} */
  const failed = []
  const session = { ...setting, rate, streams, failed, sound: soundness(setting) }

  const machine = machineLine()
  const [busy = 0] = loadavg()
  if (busy > cpus().length / 4)
    say(`the machine is busy (load average ${busy.toFixed(1)}): compare CPU, not latencies`)
  /** @type {Outcome[]} */
  const all = []
  for (const section of options.sections) {
    const outcome = await responded(section, options, session)
    if (outcome === undefined) continue
    all.push(outcome)
    say(`\n${blockOf(outcome, machine).join('\n\n')}\n`)
    for (const one of outcome.verdicts) say(verdictLine(one))
    // At once: what comes later may fail.
    if (options.md !== undefined) writeSection(options.md, outcome, machine)
  }

  const verdicts = all.flatMap((outcome) => outcome.verdicts)
  const without = session.sound.without()
  const command = commandLine(process.argv.slice(2))
  say(`\n${verdictTable(verdicts)}\n`)
  const missing = missingFrom(without, failed)
  for (const line of missing) say(line)
  if (options.md !== undefined && options.all) {
    const where = `Command: \`${command}\`. Machine: ${machine}, load average ${busy.toFixed(1)} before the run.`
    const parts = [where, verdictTable(verdicts), ...missing].filter((text) => text !== '')
    writeBlock(options.md, 'targets', parts.join('\n\n'))
  }
  if (options.json !== undefined) {
    const sections = all.map((outcome) => ({ ...outcome, tables: undefined }))
    const text = JSON.stringify(
      { machine, busy, command, verdicts, without, failed, sections },
      null,
      2,
    )
    writeFileSync(options.json, `${text}\n`)
  }
  say(`took ${(performance.now() / 60_000).toFixed(1)} minutes`)
  const wrong = without.some(({ name }) => name === 'squall')
  const missed = verdicts.length === 0 || verdicts.some(({ met }) => !met)
  if (options.check && (wrong || missed)) process.exitCode ??= 1
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
})
