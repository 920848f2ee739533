import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { PEERS, peersNamed } from '../peers/index.mjs'
import { workload } from './workloads.mjs'

export const USAGE = `usage: npm run bench -- [options]

  --peers A,B        ${PEERS.map((peer) => peer.name).join(', ')} (default: all)
  --workload NAME    small (default), large64k, stream10m, sse100
  --connections N    default: what the workload asks for
  --rounds N         default 5
  --duration S       seconds per peer and round, default 4
  --quick            2 rounds of 2 s
  --million          a million small calls through squall, then its memory
  --rules FILE       a rules file for squall
  --squall FILE      squall's main module (default dist/cli/main.js)
  --json FILE        write everything that was measured
  --md FILE          write the tables into a Markdown file, between its markers
  --check            exit 1 when a bar is missed
`

/** The built program. */
const BUILT_MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** @typedef {ReturnType<typeof parseOptions>} Options */

/** @param {readonly string[]} args */
export function parseOptions(args) {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      peers: { type: 'string', default: PEERS.map((peer) => peer.name).join(',') },
      workload: { type: 'string', default: 'small' },
      connections: { type: 'string' },
      rounds: { type: 'string' },
      duration: { type: 'string' },
      quick: { type: 'boolean', default: false },
      million: { type: 'boolean', default: false },
      rules: { type: 'string' },
      squall: { type: 'string', default: BUILT_MAIN },
      json: { type: 'string' },
      md: { type: 'string' },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const chosen = workload(values.workload)
  return {
    peers: peersNamed(values.peers.split(',').map((name) => name.trim())),
    workload: chosen,
    connections: whole('--connections', values.connections, chosen.connections),
    rounds: whole('--rounds', values.rounds, values.quick ? 2 : 5),
    seconds: whole('--duration', values.duration, values.quick ? 2 : 4),
    million: values.million,
    rulesFile: values.rules === undefined ? undefined : resolve(values.rules),
    squallMain: resolve(values.squall),
    json: values.json,
    md: values.md,
    check: values.check,
    help: values.help,
  }
}

/** @param {string} name @param {string | undefined} text @param {number} otherwise */
export function whole(name, text, otherwise) {
  if (text === undefined) return otherwise
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new Error(`${name} takes a whole number, not '${text}'`)
  return Number(text)
}
