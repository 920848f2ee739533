// part: package
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PHASES } from '../../packages/experiments/src/demo/demo.ts'
import type { LoadResult } from '../../packages/experiments/src/load/results/result.ts'
import { endingsOf, toolEndings } from '../../packages/experiments/src/report/endings.ts'
import { type Finished, startProgram } from '../support/commands.ts'

let directory: string
let printed: Finished

// Two at once: neither may be in the way of the other.
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-demo-test-'))
  const both = [
    startProgram(['demo'], { TMPDIR: directory }).finished(),
    startProgram(['demo'], { TMPDIR: directory }).finished(),
  ]
  printed = (await Promise.all(both))[0]!
})

afterAll(() => rm(directory, { recursive: true, force: true }))

it('prints plain lines that fit a terminal when it is piped', () => {
  const { code, stdout, stderr } = printed
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  // oxlint-disable-next-line no-control-regex
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
  const fits = stdout.split('\n').filter((line) => !line.startsWith(' report '))
  expect(fits.filter((line) => line.length > 80)).toEqual([])
  for (const { title } of PHASES) expect(stdout).toContain(title)
})

it('writes its report among temporary files', async () => {
  const place = /^ report +(\S+)$/m.exec(printed.stdout)![1]!
  expect(place).toMatch(new RegExp(`^${directory}/squall-demo-[0-9a-f]{6}\\.html$`))
  expect(await readFile(place, 'utf8')).toContain('<title>Squall demo · Squall</title>')
})

it('prints the numbers of its report, to the call', async () => {
  const place = /^ report +(\S+)$/m.exec(printed.stdout)![1]!
  const html = await readFile(place, 'utf8')
  const [, json] = /<script type="application\/json" id="results">(.*?)<\/script>/s.exec(html)!
  const results = (JSON.parse(json!) as readonly { result: LoadResult }[]).map(
    ({ result }) => result,
  )
  const endings = results.map(endingsOf)
  expect(row(/^ calls {2,}/m)).toEqual(results.map(({ counts }) => counts.calls))
  expect(row(/^ calls failed: injected/m)).toEqual(endings.map(({ injected }) => injected))
  expect(row(/^ {15}real/m)).toEqual(endings.map(({ real }) => real))
  expect(endings.map(({ unattributed, squall }) => unattributed + squall)).toEqual([0, 0, 0, 0])
  const tools = results[3]!.tools.map((tool) => {
    const { injected, real } = toolEndings(tool)
    return [tool.calls, injected, real]
  })
  const names = results[3]!.tools.map(({ tool }) => tool)
  expect(names.map((name) => row(new RegExp(`^ {3}${name} `, 'm')).slice(0, 3))).toEqual(tools)
})

it('explains its indicators beside them', () => {
  const screen = printed.stdout.split(`${'─'.repeat(80)}\n`).at(-2)!
  for (const name of ['TCSR', 'ETA', 'blast', 'TCAF']) expect(screen).toContain(`${name}: `)
})

it('ends with the screen that the picture in the documents shows', async () => {
  const svg = await readFile(new URL('../../docs/get-started/demo.svg', import.meta.url), 'utf8')
  const script = new URL('../../scripts/lib/terminal-svg.mjs', import.meta.url).href
  const { linesOfSvg } = (await import(script)) as {
    readonly linesOfSvg: (text: string) => string[]
  }
  expect(unbalanced(svg)).toEqual([])
  const screens = printed.stdout.split(`${'─'.repeat(80)}\n`)
  const now = screens.at(-2)!.split('\n').map(masked)
  expect(linesOfSvg(svg).map(masked)).toEqual(now.filter((line) => line !== ''))
})

/** The numbers of the line that begins so. */
function row(begin: RegExp): readonly number[] {
  const { index, 0: found } = begin.exec(printed.stdout)!
  const [line = ''] = printed.stdout.slice(index + found.length).split('\n')
  return line
    .trim()
    .split(/ +/)
    .map((text) => Number(text.replaceAll(',', '')))
}

/** A line of the screen without what is another one each time. */
function masked(line: string): string {
  return line
    .replace(/^ report .*/, 'report #')
    .replace(/^report .*/, 'report #')
    .replaceAll(/[<>]? ?\d[\d,.]*/g, '#')
    .replaceAll(/\s+/g, '')
}

/** Returns the tags that are opened but not closed in markup, or closed but not opened. */
function unbalanced(svg: string): string[] {
  const open: string[] = []
  const bad: string[] = []
  for (const [, end, name, empty] of svg.matchAll(/<(\/?)([a-z]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (end === '/' && open.pop() !== name) bad.push(name!)
    if (end === '' && empty === '') open.push(name!)
  }
  const stray = svg.match(/&(?!(amp|lt|gt);)|<(?![/a-z])/g) ?? []
  return [...bad, ...open, ...stray]
}
