// part: browser
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { TitledRun } from '../../packages/experiments/src/report/report-table.ts'
import { integerText } from '../../src/base/text/shown-numbers.ts'
import { writeReport } from '../../packages/experiments/src/report/write-report.ts'
import { sampleRuns, type SampleRuns } from '../../packages/experiments/test/report/sample-runs.ts'
import { type Browser, type BrowserPage, startBrowser } from '../support/commands.ts'

const PICTURES = fileURLToPath(new URL('../../build/report/', import.meta.url))
const WIDE = [1280, 900] as const
const PHONE = [360, 740] as const
const PAPER = [794, 1123] as const
const HOSTILE = '</script><img src=x onerror="document.title=1">\u2028\u202eevil'

let chromium: Browser
let samples: SampleRuns
let page: BrowserPage

beforeAll(async () => {
  await mkdir(PICTURES, { recursive: true })
  samples = await sampleRuns(8_000)
  chromium = await startBrowser()
})

afterAll(() => chromium?.close())

beforeEach(async () => {
  page = await chromium.openTab()
  await page.look(...WIDE, 'light')
})

afterEach(async () => {
  const { complaints, requests } = page
  await page.close()
  expect(complaints).toEqual([])
  expect(requests.filter((url) => !/^(file|data):/.test(url))).toEqual([])
})

async function open(name: string, runs: readonly TitledRun[]): Promise<void> {
  const file = `${PICTURES}${name}.html`
  await writeFile(file, writeReport(runs))
  await page.open(pathToFileURL(file).href)
}

function alone(): readonly TitledRun[] {
  return [{ title: samples.plain.run.server, result: samples.plain }]
}

function compared(): readonly TitledRun[] {
  return [
    { title: 'On its own', about: 'The client takes errors as they come.', result: samples.plain },
    { title: 'With two retries', about: 'And without two of eight.', result: samples.retried },
    { title: 'Once more', result: samples.plain },
  ]
}

describe('the report in a browser', () => {
  it('draws all charts of a run and asks for nothing', async () => {
    await open('one', alone())
    const sampled = await page.evaluate<number[]>(DRAWN)
    expect(sampled).toHaveLength(4)
    for (const pixels of sampled) expect(pixels).toBeGreaterThan(500)
    await page.reads('.sentence', new RegExp(`of ${integerText(samples.plain.counts.calls)} calls`))
    await page.screenshot(`${PICTURES}one-light.png`)
    await page.look(...WIDE, 'dark')
    await page.screenshot(`${PICTURES}one-dark.png`)
    await page.look(...PHONE, 'light')
    await page.screenshot(`${PICTURES}one-phone.png`)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(PHONE[0])
    expect(await page.evaluate<string[]>(TOO_WIDE)).toEqual([])
    await page.paper(...PAPER)
    await page.evaluate(FRAMES)
    await page.screenshot(`${PICTURES}one-paper.png`)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(PAPER[0])
    // Drawn in the dark, and yet on white paper.
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(
      'rgb(255, 255, 255)',
    )
  })

  it('shows several runs beside each other', async () => {
    await open('compared', compared())
    expect(await page.evaluate<number[]>(DRAWN)).toHaveLength(1 + 3 * 3)
    await page.reads('#run-1', /With two retries/)
    await page.screenshot(`${PICTURES}compared-light.png`)
    await page.look(...WIDE, 'dark')
    await page.screenshot(`${PICTURES}compared-dark.png`)
    await page.look(...PHONE, 'dark')
    await page.screenshot(`${PICTURES}compared-phone.png`)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(PHONE[0])
    await page.paper(...PAPER)
    await page.evaluate(FRAMES)
    await page.screenshot(`${PICTURES}compared-paper.png`)
  })

  it('says what is pointed at', async () => {
    await open('pointed', alone())
    await page.evaluate(`document.querySelector('#calls-0 .u-over').scrollIntoView()`)
    await page.evaluate(`(() => {
      const over = document.querySelector('#calls-0 .u-over')
      const { left, top, width, height } = over.getBoundingClientRect()
      const at = { clientX: left + width / 16, clientY: top + height / 2, bubbles: true }
      over.dispatchEvent(new MouseEvent('mouseenter', at))
      over.dispatchEvent(new MouseEvent('mousemove', at))
    })()`)
    const { ok } = samples.plain.timeline.points[0]!
    await page.reads('#calls-0-legend', new RegExp(`Success ${integerText(ok)}[^]*at 0.5 s`))
  })

  it('takes names that others gave for what they are', async () => {
    const { plain } = samples
    const tools = plain.tools.map((tool, i) => (i === 0 ? { ...tool, tool: HOSTILE } : tool))
    await open('hostile', [
      { title: HOSTILE, about: HOSTILE, result: { ...plain, tools } },
      { title: 'javascript:alert(1)', result: plain },
    ])
    expect(await page.evaluate<number>(`document.querySelectorAll('img').length`)).toBe(0)
    expect(await page.evaluate<string>('document.title')).toBe('Load report, compared · Squall')
    await page.reads('#tools-0 ~ .scroll', /<\/script><img src=x[^]*\\u\{202e\}evil/)
    expect(
      await page.evaluate(`JSON.parse(document.querySelector('#results').textContent)[0].title`),
    ).toBe(HOSTILE)
  })

  it.each([
    ['one', 'light', WIDE],
    ['one', 'dark', WIDE],
    ['compared', 'light', PHONE],
    ['compared', 'dark', WIDE],
  ] as const)(
    'has no barrier that axe finds: %s, %s, %j',
    async (which, scheme, [width, height]) => {
      await page.look(width, height, scheme)
      await open(`axe-${which}`, which === 'one' ? alone() : compared())
      await page.evaluate(
        `document.querySelectorAll('details').forEach((each) => (each.open = true))`,
      )
      await page.evaluate(await readFile(AXE, 'utf8'))
      const found = await page.evaluate<readonly Violation[]>(`axe.run().then(({ violations }) =>
      violations.map(({ id, impact, nodes }) => ({ id, impact, at: nodes.map((n) => n.html) })))`)
      expect(found).toEqual([])
    },
  )
})

interface Violation {
  readonly id: string
  readonly impact: string
  readonly at: readonly string[]
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Counts the pixels that are drawn on each canvas. */
const DRAWN = `[...document.querySelectorAll('canvas')].map((canvas) => canvas.getContext('2d')
  .getImageData(0, 0, canvas.width, canvas.height).data.filter((value, i) => i % 4 === 3 && value > 0)
  .length)`

const FRAMES = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`

/** Finds the elements that are cut off at the right, other than within a scrollable part. */
const TOO_WIDE = `[...document.querySelectorAll('body *')]
  .filter((element) => element.closest('.scroll, .chart, script, details') === null)
  .filter((element) => element.getBoundingClientRect().right > innerWidth)
  .map((element) => element.outerHTML.slice(0, 100))`
