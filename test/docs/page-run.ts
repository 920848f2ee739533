import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { blocksOf, commandsOf, type Block } from './blocks.ts'
import { ELSEWHERE, FAILS, SHORTER, type Elsewhere } from './elsewhere.ts'
import type { Reader } from './reader.ts'

/** A name in the reader's own directory: directories of the clone are those of this project. */
const FILE_NAME = /^(?:#|\/\/) ([\w.-]+\.\w+)$/

/** The result of a page: commands that did not end as the page says, and lines not printed. */
export interface PageRun {
  readonly commands: number
  readonly wrong: readonly string[]
}

/** Finds why a command is not run by `npm test`. */
export function elsewhere(page: string, command: string): Elsewhere | undefined {
  return ELSEWHERE.find((entry) => page.startsWith(entry.page ?? '') && entry.command.test(command))
}

/** Most guides are for readers with a server behind Squall; all other pages begin with a clone. */
const GUIDE =
  /^docs\/(?:guides\/(?!experiments|explain|in-tests|operations|outbound)|reference\/admin-api)/

/**
 * Follows a page as {@link follow} does, with what its readers have running; nothing may be wrong.
 */
export async function expectTrue(reader: Reader, page: string): Promise<void> {
  if (GUIDE.test(page)) {
    await reader.write('rules.yaml', 'rules: []\n')
    await reader.run('node examples/server.mjs --failing')
    await reader.run('npx mcp-squall run --rules rules.yaml')
  }
  const { commands, wrong } = await follow(reader, page)
  expect(wrong).toEqual([])
  expect(commands).toBeGreaterThan(0)
}

/** Follows a page from its top: writes its files, runs its commands, and reads what they print. */
export async function follow(reader: Reader, page: string): Promise<PageRun> {
  const wrong: string[] = []
  let commands = 0
  let printed = ''
  for (const block of await blocksOf(page)) {
    const file = fileOf(block)
    if (file !== undefined) {
      await reader.write(file, block.text)
      if (file === 'rules.yaml') await areActive(reader)
    }
    if (block.language === 'text') {
      wrong.push(...missing(block.text, printed).map((line) => `${page}: not printed: ${line}`))
    }
    const here = commandsOf(block).filter((command) => elsewhere(page, command) === undefined)
    if (here.length > 0) printed = ''
    for (const command of here) {
      commands++
      const { code, text } = await reader.run(shortened(command))
      printed += text
      const expected = FAILS.find((each) => each.page === page && each.command.test(command))
      // A program that stays has no exit code yet.
      if (code !== null && code !== (expected?.code ?? 0)) {
        wrong.push(`${page}: exit code ${code} of ${command}\n${text}`)
      }
    }
  }
  return { commands, wrong }
}

/**
 * Waits until a running sidecar has taken rules; they may be rejected, where that is what the page
 * shows.
 */
async function areActive(reader: Reader): Promise<void> {
  const rules = await readFile(join(reader.directory, 'rules.yaml'))
  const digest = createHash('sha256').update(rules).digest('hex')
  const url = `http://127.0.0.1:${reader.port(15390)}/api/state`
  await eventually(async () => {
    const response = await fetch(url).catch(() => undefined)
    if (response === undefined) return undefined
    const { lastReload } = (await response.json()) as { readonly lastReload: { digest?: string } }
    return lastReload.digest === digest ? undefined : 'the rules of the page are not read'
  })
}

/** Names the file that a block is: by its first line, or as rules. */
function fileOf({ language, text }: Block): string | undefined {
  const named = FILE_NAME.exec(text.split('\n', 1)[0]!)?.[1]
  if (named !== undefined || language !== 'yaml') return named
  return /^rules:/m.test(text) && !/^(?:name|apiVersion|jobs):/m.test(text)
    ? 'rules.yaml'
    : undefined
}

function shortened(command: string): string {
  return SHORTER.reduce((text, [long, short]) => text.replace(long, short), command)
}

/**
 * Lists the lines that were not printed, whatever their numbers, blanks and what `…` leaves out.
 */
function missing(expected: string, printed: string): readonly string[] {
  const lines = printed.split('\n').map(plain)
  return expected
    .split('\n')
    .filter((line) => line.trim() !== '')
    .filter((line) => {
      const parts = plain(line)
        .split('…')
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      const pattern = new RegExp(`^${parts.join('.*')}$`)
      return !lines.some((each) => pattern.test(each))
    })
}

function plain(line: string): string {
  return line
    .replaceAll(/\d[\d.,:]*/g, '0')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
