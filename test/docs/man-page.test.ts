// part: slow
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import type { Command } from '../../src/cli/flags/command.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MOST_BYTES = 80_000
/** The requests that the page uses, all of the man macros. */
const REQUESTS = ['TH', 'SH', 'SS', 'TP', 'P', 'B', 'I', 'RS', 'RE', 'nf', 'fi']

let page: string
let sections: ReadonlyMap<string, string>
let manifest: { readonly man: string; readonly version: string }

beforeAll(async () => {
  manifest = JSON.parse(await readFile(`${ROOT}package.json`, 'utf8')) as typeof manifest
  page = await readFile(`${ROOT}${manifest.man}`, 'utf8')
  sections = sectionsOf(page)
})

/** Returns the commands as the build has them, in a tenth of the time that their sources take. */
function commandsOfBuild(): readonly Command[] {
  const module = pathToFileURL(`${ROOT}build/js/src/cli/squall.js`).href
  const program = `import { allCommands } from '${module}'
    console.log(JSON.stringify(await allCommands()))`
  const args = ['--input-type=module', '--eval', program]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Command[]
}

/** Returns a section, or a section of a command, as a reader sees its words. */
function section(title: string): string {
  return sections.get(title) ?? ''
}

function sectionsOf(text: string): ReadonlyMap<string, string> {
  const plain = text
    .replaceAll('\\-', '-')
    .replaceAll('\\(dq', '"')
    .replaceAll(/\\f[BIR]/g, '')
    .replaceAll(/\\\[u([\dA-F]+)\]/g, (_, hex: string) => String.fromCodePoint(parseInt(hex, 16)))
  const parts = plain.split(/^\.S[HS] /m).map((part) => {
    const [title = ''] = part.split('\n', 1)
    return [title.replaceAll('"', '').split(/ [<[]/)[0]!, part.slice(title.length)] as const
  })
  return new Map(parts)
}

it('the manual page has every command and every option, each option explained once', () => {
  const missing: string[] = []
  for (const { name, flags, examples } of commandsOfBuild()) {
    const own = section(`squall ${name}`)
    const explained = ['OPTIONS OF SEVERAL COMMANDS', 'squall run'].map(section).join() + own
    missing.push(...examples.filter((example) => !own.includes(`squall ${example}`)))
    const isMissing = (flag: Command['flags'][number]): boolean =>
      !new RegExp(`--${flag.name}(?![a-z-])`).test(own) ||
      !explained.includes(flag.help.replaceAll('`', ''))
    missing.push(...flags.filter(isMissing).map((flag) => `${name} --${flag.name}`))
  }
  expect(missing).toEqual([])
  expect(page).toContain(`squall ${manifest.version}`)
})

it('the manual page is ASCII, small, and no text in it is read as a request', () => {
  expect(page).toMatch(/^\p{ASCII}*$/u)
  expect(page.length).toBeLessThan(MOST_BYTES)
  const requests = [...page.matchAll(/^[.'](\S*)/gm)].map(([, request]) => request!)
  expect([...new Set(requests)].filter((request) => !REQUESTS.includes(request))).toEqual([])
})

it('the exit codes are those of the docs', async () => {
  const docs = await readFile(`${ROOT}docs/reference/exit-codes.md`, 'utf8')
  const [, table = ''] = docs.split('\n| exit code ')
  for (const [, code, text] of section('EXIT STATUS').matchAll(/\.B (\d+)\n(.+)\./g)) {
    expect(table).toMatch(new RegExp(String.raw`^\| ${code} +\| ${text}[.:,;]`, 'm'))
  }
  expect(section('EXIT STATUS').match(/^\.B/gm)).toHaveLength(
    table.split('\n\n')[0]!.match(/^\| \d+/gm)!.length,
  )
})
