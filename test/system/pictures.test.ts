// part: pictures
// The scene of the README, as docs/pictures shows it: faults on one tool, real errors of another.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ROOT } from '../docs/blocks.ts'
import { type Ran, type Reader } from '../docs/reader.ts'
import { type Browser, type BrowserPage, startBrowser, startTerminal } from '../support/commands.ts'

const PICTURES = `${ROOT}build/pictures/`
const SCHEMES = ['light', 'dark'] as const
const WINDOW = [1200, 892] as const
/** The duration of calls before the pictures, so that charts have something to show. */
const SECONDS = 45

const RULES = `seed: 4
rules:
  - name: search-fails-sometimes
    match: { tool: search_docs }
    percent: 20
    faults: [abort: { status: 503 }]
  - name: slow-documents
    match: { tool: fetch_document }
    percent: 30
    faults: [delay: { fixed: 400ms }]
  - name: short-orders
    match: { tool: list_orders }
    percent: 10
    faults: [truncate: { content: { items: 3 } }]
  - name: tickets-rejected
    match: { tool: create_ticket }
    faults: [abort: { toolError: 'the ticket system is down' }]
`

let reader: Reader
let chromium: Browser
let page: BrowserPage
let load: Promise<Ran>

beforeAll(async () => {
  await mkdir(PICTURES, { recursive: true })
  reader = await startTerminal({ reader: {} })
  await reader.write('rules.yaml', RULES)
  await reader.run('node examples/server.mjs --failing')
  await reader.run('npx mcp-squall run --rules rules.yaml --environment staging')
  chromium = await startBrowser()
  page = await chromium.openTab()
  await page.look(...WINDOW, 'light')
  await page.open(`http://127.0.0.1:${reader.port(15390)}/`)
  load = reader.run(
    `npx mcp-squall load --target http://127.0.0.1:15300/mcp --rate 20/s --duration ${SECONDS + 15}s --report report.html`,
  )
})

afterAll(async () => {
  await chromium?.close()
  await reader?.close()
})

it('shows injected errors beside real ones on the admin page', async () => {
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000))
  await page.reads('#reload-result', /^Active$/)
  await page.reads('#numbers', /Real errors\/s[^]*Injected errors\/s/)
  await page.reads('#tools-rows', /get_weather/)
  for (const scheme of SCHEMES) {
    await page.look(...WINDOW, scheme)
    await page.screenshot(`${PICTURES}admin-page-${scheme}.png`, WINDOW)
  }
  expect(page.complaints).toEqual([])
})

it('shows squall top', async () => {
  const terminal = await startTerminal(100, 30)
  try {
    const main = join(ROOT, 'dist/cli/main.js')
    await terminal.enter(`${process.execPath} ${main} top 127.0.0.1:${reader.port(15390)}`)
    await terminal.shows(/^ search-fails-sometimes +abort +on +\d+ +[1-9]/m)
    await terminal.shows(/injected errors\/s +[\d.]+ +[▁▂▃▄▅▆▇█]{4}/)
    await writeFile(`${PICTURES}top.screen`, await terminal.coloured())
  } finally {
    await terminal.close()
  }
})

it('shows the report of the load', async () => {
  const { text } = await load
  expect(text).toMatch(/get_weather .* [1-9]\d* +0 /)
  await page.open(pathToFileURL(join(reader.directory, 'report.html')).href)
  for (const scheme of SCHEMES) {
    await page.look(...WINDOW, scheme)
    await page.screenshot(`${PICTURES}report-${scheme}.png`, WINDOW)
  }
})
