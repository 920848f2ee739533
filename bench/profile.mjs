// Where a Node peer spends its time under the small workload: usage in README.md.
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endChildrenWithThisProcess } from './lib/children.mjs'
import { loadGenerator } from './lib/load.mjs'
import { parseOptions } from './lib/options.mjs'
import { selfTimes } from './lib/self-times.mjs'
import { respondsRightly, startPeer } from './lib/running-peer.mjs'
import { workload } from './lib/workloads.mjs'
import { startUpstream } from './upstream/index.mjs'

const WARM_UP_SECONDS = 2
const SECONDS = 4
const TOP = 20

/** Takes the bench's own options; `--peers` names the one to look at, `--md` the file to write. */
async function main() {
  const args = process.argv.slice(2)
  const named = args.includes('--peers') ? args : ['--peers', 'squall', ...args]
  const plan = parseOptions(named)
  const [peer] = plan.peers ?? []
  const work = workload(process.env['BENCH_BODIES'] ?? plan.sections[0]?.name ?? 'small')
  if (!peer?.command) throw new Error('not a proxy')
  endChildrenWithThisProcess()
  const directory = mkdtempSync(join(tmpdir(), 'squall-profile-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const upstream = await startUpstream(work, directory)
  const profiled = {
    ...peer,
    /** @param {import('./peers/index.mjs').PeerContext} context */
    command: async (context) => {
      const command = await /** @type {NonNullable<typeof peer.command>} */ (peer.command)(context)
      if (command.file !== process.execPath) throw new Error(`${peer.name} is not a Node program`)
      const flags = ['--cpu-prof', '--cpu-prof-interval', '200', '--cpu-prof-dir', directory]
      return { ...command, args: [...flags, ...command.args] }
    },
  }
  const running = await startPeer(profiled, upstream.port, { ...plan, directory })
  if (!(await respondsRightly(running, work))) throw new Error('wrong response')
  const { run } = loadGenerator()
  const load = {
    port: running.port,
    workload: work,
    connections: plan.connections ?? work.connections,
    directory,
  }
  await run({ ...load, seconds: WARM_UP_SECONDS })
  const result = await run({ ...load, seconds: plan.seconds ?? SECONDS })
  await running.child?.stop()
  await upstream.child.stop()

  const file = readdirSync(directory).find((name) => name.endsWith('.cpuprofile'))
  if (file === undefined) throw new Error('no profile was written: did the peer end by itself?')
  const rows = selfTimes(JSON.parse(readFileSync(join(directory, file), 'utf8'))).slice(0, TOP)
  const lines = [
    `${peer.name}, ${work.name}: ${Math.round(result.callsPerSecond)} calls/s while profiled`,
    '',
    '| self | function | where |',
    '| ---: | --- | --- |',
    ...rows.map((r) => `| ${(r.share * 100).toFixed(1)} % | ${r.name} | ${r.where} |`),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  if (plan.md !== undefined) writeFileSync(plan.md, `${lines.join('\n')}\n`)
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
})
