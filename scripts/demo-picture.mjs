// Plays the demo and makes a picture of its end screen: docs/get-started/demo.svg. Build first.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { terminalSvg } from './lib/terminal-svg.mjs'

const MAIN = fileURLToPath(new URL(process.argv[2] ?? '../dist/cli/main.js', import.meta.url))
const PICTURE = fileURLToPath(new URL('../docs/get-started/demo.svg', import.meta.url))
const RULE = '─'.repeat(80)

const directory = mkdtempSync(join(tmpdir(), 'squall-picture-'))
const { status, stdout, stderr } = spawnSync(
  process.execPath,
  [MAIN, 'demo', '--report', 'squall-demo.html'],
  { cwd: directory, encoding: 'utf8', env: { PATH: process.env.PATH, FORCE_COLOR: '1' } },
)
rmSync(directory, { recursive: true, force: true })
if (status !== 0) throw new Error(`the demo ended with ${status}: ${stderr}`)

const lines = stdout.split('\n')
const isRule = (line) => line.includes(RULE)
const from = lines.findIndex(isRule)
const to = lines.findLastIndex(isRule)
writeFileSync(
  PICTURE,
  terminalSvg(lines.slice(from + 1, to), {
    title: 'The end screen of squall demo',
    about:
      'Four loads of one MCP server: without a rule, with 2 % of the calls failing, the same with retries, and with the rules edited live. Each injected error is labelled, so that it differs from those of the server.',
  }),
)
process.stdout.write(`wrote ${PICTURE}\n`)
