// part: docs
// A newcomer copies the first five commands of the README, and sees the first injected error on the
// page.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { blocksOf, commandsOf, ROOT } from '../docs/blocks.ts'
import { type Reader } from '../docs/reader.ts'
import { type Browser, type BrowserPage, startBrowser, startTerminal } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { stalledMs } from '../support/stalls.ts'
import { PATIENCE } from './patience.ts'

const run = promisify(execFile)
const PAGE = 'README.md'
/**
 * Seconds from the clone to the first injected error on the page; more where other programs keep
 * the cores busy.
 */
const LIMIT = 60 * Math.max(1, loadavg()[0]! / availableParallelism())
const MOST_COMMANDS = 5
/** Commands above the load that nobody needs for the first error. */
const OPTIONAL = /npm test|squall try/

let directory: string
let reader: Reader
let chromium: Browser

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-newcomer-'))
  chromium = await startBrowser()
})

afterEach(async () => {
  await reader?.close()
  await chromium.close()
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
})

/** Follows the README up to the first injected error on the page. */
async function walk(from: string, typed: (command: string) => string): Promise<void> {
  // The registry and the cache of npm are those of the user.
  reader = await startTerminal({ reader: { directory, env: { HOME: process.env['HOME'] ?? '' } } })
  const blocks = await blocksOf(PAGE)
  const all = blocks.flatMap(commandsOf)
  const load = all.findIndex((command) => command.startsWith('npx mcp-squall load'))
  const commands = all.slice(0, load + 1).filter((command) => !OPTIONAL.test(command))
  expect(commands.length).toBeGreaterThan(2)
  expect(commands.length).toBeLessThanOrEqual(MOST_COMMANDS)
  let seconds = 0
  const timed = async (name: string, step: () => Promise<unknown>): Promise<void> => {
    const begun = performance.now() - stalledMs()
    await step()
    const took = (performance.now() - stalledMs() - begun) / 1000
    seconds += took
    process.stdout.write(`newcomer: ${took.toFixed(1)} s ${name}\n`)
  }
  await reader.write('rules.yaml', blocks.find(({ language }) => language === 'yaml')!.text)
  for (const command of commands.slice(0, -1).map(typed)) {
    await timed(command, async () => {
      const { code, text } = await reader.run(command)
      expect(code ?? 0, `${command}\n${text}`).toBe(0)
    })
  }
  const page = await chromium.openTab()
  const calls = reader.run(typed(commands.at(-1)!).replace('60s', '10s'))
  await timed('the first injected error on the page', async () => {
    await page.open(`http://127.0.0.1:${reader.port(15390)}/`)
    await page.reads('#faults-rows', /search-fails-sometimes/)
    await eventually(() => errorsOf(page, 'search_docs', 'Injected'), PATIENCE)
  })
  await calls
  await eventually(() => errorsOf(page, 'get_weather', 'Real'), PATIENCE)
  expect(page.complaints).toEqual([])
  process.stdout.write(`newcomer: ${seconds.toFixed(1)} s in all, ${from}\n`)
  expect(seconds).toBeLessThan(LIMIT)
}

/** Complains while the page shows no errors of a tool in the column that begins so. */
async function errorsOf(
  page: BrowserPage,
  tool: string,
  column: string,
): Promise<string | undefined> {
  const cells = `[...document.querySelector('#tools-rows').closest('table').querySelectorAll('tr')]
    .map((row) => [...row.children].map((cell) => cell.innerText.trim()))`
  const [head = [], ...rows] = await page.evaluate<string[][]>(cells)
  const at = head.findIndex((text) => text.startsWith(column))
  const shown = rows.find(([name]) => name === tool)?.[at] ?? ''
  return /^[1-9]/.test(shown)
    ? undefined
    : `${tool} has "${shown}" under ${column} of ${head.join()}`
}

it('from a clone', { timeout: 300_000 }, async () => {
  await run('git', ['clone', '--quiet', ROOT, directory])
  await walk('from a clone', (command) => command)
})

it('from the tarball of npm pack', { timeout: 300_000 }, async () => {
  const pack = ['pack', '--silent', '--pack-destination', directory]
  const { stdout } = await run('npm', pack, { cwd: ROOT })
  await writeFile(join(directory, 'package.json'), '{ "private": true }')
  // The example server needs the SDK, which the package does not install.
  const install = `npm install --no-audit --no-fund ./${stdout.trim()} @modelcontextprotocol/sdk`
  await walk('from the tarball', (command) =>
    command
      .replace('npm ci', install)
      .replace('npm run demo', 'npx mcp-squall demo')
      .replace('node examples/', 'node node_modules/mcp-squall/examples/'),
  )
})
