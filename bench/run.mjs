import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BARS, verdict, verdictLine } from './bars.mjs'
import { endChildrenWithThisProcess } from './lib/children.mjs'
import { loadGenerator } from './lib/load.mjs'
import { writeBlock } from './lib/markdown.mjs'
import { million } from './lib/million.mjs'
import { USAGE, parseOptions } from './lib/options.mjs'
import { cpuRatio, figuresTable, machineLine, ratioTable } from './lib/report.mjs'
import { measure } from './lib/rounds.mjs'
import { answersRightly, checkPeer, startPeer } from './lib/running-peer.mjs'
import { startUpstream } from './upstream/index.mjs'

/** @param {string} line */
const say = (line) => void process.stdout.write(`${line}\n`)

/** @typedef {import('./lib/options.mjs').Options & { folder: string }} Plan */

/**
 * The peers that are there and that pass MCP traffic rightly; the others are named with the reason.
 * @param {Plan} plan
 */
async function soundPeers(plan) {
  const sound = []
  let wrong = false
  for (const peer of plan.peers) {
    const missing = peer.missing?.(plan)
    if (missing !== undefined) {
      say(`skipped ${peer.name}: ${missing}`)
      continue
    }
    const faults = await checkPeer(peer, plan)
    if (faults.length === 0) sound.push(peer)
    else if (peer.name === 'squall') wrong = true
    for (const fault of faults) say(`not timed, ${peer.name} is wrong: ${fault}`)
  }
  return { sound, wrong }
}

/** @param {Plan} plan */
async function rounds(plan) {
  const { sound, wrong } = await soundPeers(plan)
  const upstream = await startUpstream(plan.workload, plan.folder)
  const running = []
  for (const peer of sound) {
    const started = await startPeer(peer, upstream.port, plan)
    if (await answersRightly(started, plan.workload)) running.push(started)
    else say(`not timed, ${peer.name} changes the answer of ${plan.workload.name}`)
  }
  const results = await measure(running, { ...plan, say })
  for (const { child } of running) await child?.stop()
  await upstream.child.stop()

  const machine = machineLine(loadGenerator().name, upstream.kind)
  const settings = `${plan.rounds} rounds of ${plan.seconds} s, ${plan.connections} connections`
  const args = process.argv.slice(2).map((arg) => ` ${arg}`)
  const command = `npm run bench${args.length > 0 ? ' --' : ''}${args.join('')}`
  const text = [
    `Workload \`${plan.workload.name}\`: ${plan.workload.summary}. ${settings}; medians.`,
    `Machine: ${machine}.`,
    `Command: \`${command}\``,
    figuresTable(results),
    ratioTable(results),
  ].join('\n\n')
  say(`\n${text}`)
  if (plan.md !== undefined) writeBlock(plan.md, plan.workload.name, text)

  const squall = results.find(({ name }) => name === 'squall')
  const baseline = results.find(({ name }) => name === 'undici-baseline')
  const verdicts = []
  if (squall && baseline) {
    const ratio = cpuRatio(squall, baseline)
    verdicts.push(verdict('CPU ÷ undici-baseline', ratio, BARS.cpuAgainstBaseline))
  }
  const ruled = results.find(({ name }) => name === 'squall-20-rules')
  if (squall && ruled) {
    const ratio = cpuRatio(ruled, squall)
    verdicts.push(verdict('CPU with 20 rules ÷ without', ratio, BARS.unmatchedRules))
  }
  const counted = results.find(({ name }) => name === 'squall-metrics-on')
  const uncounted = results.find(({ name }) => name === 'squall-metrics-off')
  if (counted && uncounted) {
    const ratio = cpuRatio(counted, uncounted)
    verdicts.push(verdict('CPU with metrics ÷ without', ratio, BARS.metrics))
  }
  const workload = plan.workload.name
  return { measured: { workload, settings, machine, command, results }, verdicts, wrong }
}

/** @param {Plan} plan */
async function millionCalls(plan) {
  const memory = await million({ ...plan, say })
  const text = `After ${memory.calls} small calls (${memory.errors} errors) squall held ${memory.after.toFixed(1)} MiB, ${memory.rested.toFixed(1)} MiB after 5 s of rest; ${memory.idle.toFixed(1)} MiB before the first call, ${memory.peak.toFixed(1)} MiB at most.`
  say(`\n${text}`)
  if (plan.md !== undefined) writeBlock(plan.md, 'million', text)
  const verdicts = [verdict('MiB after a million calls', memory.after, BARS.millionCallsMiB)]
  return { measured: memory, verdicts, wrong: memory.errors > 0 }
}

async function main() {
  const options = parseOptions(process.argv.slice(2))
  if (options.help) {
    say(USAGE)
    return
  }
  endChildrenWithThisProcess()
  const folder = mkdtempSync(join(tmpdir(), 'squall-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const plan = { ...options, folder }
  const { measured, verdicts, wrong } = await (plan.million ? millionCalls(plan) : rounds(plan))
  say('')
  for (const one of verdicts) say(verdictLine(one))
  if (plan.json !== undefined) {
    writeFileSync(plan.json, `${JSON.stringify({ ...measured, verdicts }, null, 2)}\n`)
  }
  if (plan.check && (wrong || verdicts.length === 0 || verdicts.some(({ holds }) => !holds))) {
    process.exitCode = 1
  }
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
})
