import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { PEERS, peersNamed } from '../peers/index.mjs'
import { SECTIONS, sectionsNamed } from '../sections/index.mjs'

export const USAGE = `usage: npm run bench -- [options]

  --all              every workload, in the order below
  --workload A,B     ${wrapped(SECTIONS.map(({ name }) => name))}
                     (default: small)
  --peers A,B        ${wrapped(PEERS.map(({ name }) => name))}
                     (default: those of the workload)
  --rounds N         default 5 or what the workload asks for
  --duration S       seconds per peer and round, default 2 or what the workload asks for
  --connections N    default: what the workload asks for
  --rate N           calls a second of half-load and delayed5, default 2000
  --streams N        streams of held2000 and connections of idle, default 2000
  --quick            2 rounds of 1 s
  --rules FILE       a rules file for squall instead of 20 rules that match nothing
  --squall FILE      squall's main module (default dist/cli/main.js)
  --json FILE        write everything that was measured
  --md FILE          write tables between their markers in a Markdown file, and charts into its directory
  --check            exit 1 when a target is missed
`

/** @param {readonly string[]} names */
function wrapped(names) {
  const lines = ['']
  for (const name of names) {
    if (lines.at(-1).length + name.length > 70) lines.push('')
    lines[lines.length - 1] += `${name}, `
  }
  return lines
    .join(`\n${' '.repeat(21)}`)
    .replace(/, $/, '')
    .replaceAll(/ +$/gm, '')
}

/** The built program. */
const BUILT_MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** @typedef {ReturnType<typeof parseOptions>} Options */

/** @param {readonly string[]} args */
export function parseOptions(args) {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      all: { type: 'boolean', default: false },
      workload: { type: 'string', default: 'small' },
      peers: { type: 'string' },
      connections: { type: 'string' },
      rounds: { type: 'string' },
      duration: { type: 'string' },
      rate: { type: 'string' },
      streams: { type: 'string' },
      quick: { type: 'boolean', default: false },
      rules: { type: 'string' },
      squall: { type: 'string', default: BUILT_MAIN },
      json: { type: 'string' },
      md: { type: 'string' },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  return {
    sections: values.all ? SECTIONS : sectionsNamed(listed(values.workload)),
    peers: values.peers === undefined ? undefined : peersNamed(listed(values.peers)),
    all: values.all,
    connections: whole('--connections', values.connections, undefined),
    rounds: whole('--rounds', values.rounds, values.quick ? 2 : undefined),
    seconds: whole('--duration', values.duration, values.quick ? 1 : undefined),
    rate: whole('--rate', values.rate, 2000),
    streams: whole('--streams', values.streams, 2000),
    rulesFile: values.rules === undefined ? undefined : resolve(values.rules),
    squallMain: resolve(values.squall),
    json: values.json,
    md: values.md,
    check: values.check,
    help: values.help,
  }
}

/** @param {string} text */
function listed(text) {
  return text.split(',').map((name) => name.trim())
}

/**
 * @template Otherwise
 * @param {string} name
 * @param {string | undefined} text
 * @param {Otherwise} otherwise
 */
export function whole(name, text, otherwise) {
  if (text === undefined) return otherwise
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new Error(`${name} takes an integer, not '${text}'`)
  return Number(text)
}
