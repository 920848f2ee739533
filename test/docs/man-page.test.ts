import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { allCommands } from '../../src/cli/squall.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MOST_BYTES = 80_000
/** The requests that the page uses, all of the man macros. */
const REQUESTS = ['TH', 'SH', 'SS', 'TP', 'P', 'B', 'I', 'RS', 'RE', 'nf', 'fi']

let page: string
let manifest: { readonly man: string; readonly version: string }

beforeAll(async () => {
  manifest = JSON.parse(await readFile(`${ROOT}package.json`, 'utf8')) as typeof manifest
  page = await readFile(`${ROOT}${manifest.man}`, 'utf8')
})

/** Returns a section, or a section of a command, as a reader sees its words. */
function section(title: string): string {
  const plain = page
    .replaceAll('\\-', '-')
    .replaceAll('\\(dq', '"')
    .replaceAll(/\\f[BIR]/g, '')
  const after = plain.split(new RegExp(String.raw`^\.S[HS] "?${title}(?: \[options\]|"|$)`, 'm'))[1]
  return (after ?? '').split(/^\.S[HS] /m)[0]!
}

it('the manual page has every command and every option, each option explained once', async () => {
  const shared = section('OPTIONS OF SEVERAL COMMANDS')
  for (const { name, flags, examples } of await allCommands()) {
    const own = section(`squall ${name}`)
    for (const example of examples) expect(own).toContain(`squall ${example}`)
    for (const flag of flags) {
      expect(own, `${name} --${flag.name}`).toMatch(new RegExp(`--${flag.name}(?![a-z-])`))
      const explained = flag.help.replaceAll('`', '')
      expect([own, shared, section('squall run')].join('\n')).toContain(explained)
    }
  }
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
    expect(table).toMatch(new RegExp(String.raw`^\| ${code} +\| ${text}[.:]`, 'm'))
  }
  expect(section('EXIT STATUS').match(/^\.B/gm)).toHaveLength(
    table.split('\n\n')[0]!.match(/^\| \d+/gm)!.length,
  )
})
