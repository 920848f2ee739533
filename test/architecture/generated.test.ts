import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { COMMANDS } from '../support/commands/command-line.ts'
import { METRICS } from '../../src/telemetry/metric-table.ts'

const SCRIPT = fileURLToPath(new URL('../../scripts/generate-reference.mjs', import.meta.url))

/** The settings of another machine, for which the same files must be generated. */
const SIXTY_CPUS =
  'data:text/javascript,import os from "node:os"; import { syncBuiltinESMExports } from "node:module"; os.availableParallelism = () => 60; syncBuiltinESMExports()'
const ELSEWHERE = { HOME: '/elsewhere', TZ: 'Asia/Kathmandu', LC_ALL: 'tr_TR.UTF-8', COLUMNS: '40' }

test('reference pages, schemas, dashboards and chart files are what the code generates', async () => {
  const args = ['--import', SIXTY_CPUS, SCRIPT, '--check']
  const check = promisify(execFile)(process.execPath, args, { env: ELSEWHERE })
  const { stdout } = await check.catch((error: { stdout: string }) => error)
  const stale = stdout.split('\n').filter((line) => line !== '' && !line.endsWith(' is current'))
  expect(stale, 'generated files are stale: run npm run generate').toEqual([])
  expect(stdout).toContain('docs/reference/commands.md is current')
}, 60_000)

test('the reference shows the help of each flag as the terminal does', () => {
  for (const { name, flags } of COMMANDS) {
    const page = reference(name === 'run' ? 'flags' : 'commands')
    const start = name === 'run' ? 0 : page.indexOf(`\n## squall ${name}\n`)
    const section = name === 'run' ? page : page.slice(start, page.indexOf('\n## ', start + 1))
    const all = rows(section)
    for (const flag of flags) {
      const isFlag = ([form]: string[]): boolean => /--([\w-]+)/.exec(form!)?.[1] === flag.name
      const row = all.find(isFlag) ?? sharedRow(name, section, flag.name, isFlag)
      expect(row?.at(-1), `squall ${name} --${flag.name}`).toBe(flag.help.replaceAll('\n', ' '))
    }
  }
})

test('the reference has a row for each metric and label, with buckets in their unit', () => {
  const page = rows(reference('metrics'))
  for (const { name, labels } of METRICS) {
    const meanings = page.filter(([cell, ...more]) => cell === `\`${name}\`` && more.length === 3)
    expect(meanings).toHaveLength(1)
    for (const each of labels) {
      expect(page.filter(([cell]) => cell === `\`${each}\``)).toHaveLength(1)
    }
  }
  const size = page.findLast(([cell]) => cell === '`squall_result_bytes`')
  expect(size?.at(-1)).toMatch(/^Markdown: 256B, \*\*1KiB\*\*, .*, \*\*16MiB\*\*$/)
})

/** The row of a flag that its command only names, where the page explains the flag for several. */
function sharedRow(
  command: string,
  section: string,
  flag: string,
  isFlag: (row: string[]) => boolean,
): string[] | undefined {
  const [, page] =
    new RegExp(`^\\[Flags of .*\\]\\((.*)\\): .*\`--${flag}\``, 'm').exec(section) ?? []
  const text =
    command === 'stdio' && page === 'flags.md' ? reference('flags') : reference('commands')
  return page === undefined ? undefined : rows(text.split('\n## squall ')[0]!).find(isFlag)
}

function reference(page: string): string {
  return readFileSync(new URL(`../../docs/reference/${page}.md`, import.meta.url), 'utf8')
}

/** The cells of all tables as a reader sees them: emphasis and links would be other text. */
function rows(page: string): string[][] {
  const lines = page.split('\n').filter((line) => line.startsWith('| '))
  return lines.map((line) => {
    const cells = line.slice(2, -2).split(/ +\| /)
    return cells.map((cell) => {
      const text = cell.trim().replaceAll('\\|', '|')
      const bare = text.replace(/`[^`]*`|\\./g, 'x')
      const marks = /\*|(?<!\w)_|_(?!\w)|<|\]\(/.exec(bare)
      return marks === null ? text.replace(/\\([*_<[\]\\])/g, '$1') : `Markdown: ${text}`
    })
  })
}
