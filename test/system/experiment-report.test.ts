// part: browser
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import {
  type Browser,
  type BrowserPage,
  startBrowser,
  startProgram,
  startSquall,
} from '../support/commands.ts'
import type { ExperimentStage } from '../../packages/experiments/test/experiment/stage.ts'

const PICTURES = fileURLToPath(new URL('../../build/experiment-report/', import.meta.url))
const WIDE = [1280, 900] as const
const PHONE = [360, 740] as const

let chromium: Browser
let stage: ExperimentStage
let page: BrowserPage
/** The pages by their names. */
const files = new Map<string, string>()

beforeAll(async () => {
  await mkdir(PICTURES, { recursive: true })
  chromium = await startBrowser()
  stage = await startSquall({ experiment: {} })
  const at = (name: string): string => join(stage.directory, name)
  const kept = ['--experiments', at('experiments')]
  for (const success of ['10%', '99.9%']) {
    await writeFile(at('plan.yaml'), stage.text({ hold: '2s', slo: { success } }))
    const own = ['--state-dir', at('state')]
    await startProgram(['experiment', 'run', at('plan.yaml'), ...kept, ...own]).finished()
  }
  const history = await readFile(at('experiments/history.jsonl'), 'utf8')
  const ids = history
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id)
  files.set('report', at(`experiments/${ids[1]}/report.html`))
  files.set('compared', at('compared.html'))
  const compare = ['experiment', 'compare', ...ids, ...kept, '--report', at('compared.html')]
  expect((await startProgram(compare).finished()).stderr).toBe('')
})

afterAll(async () => {
  await stage?.close()
  await chromium?.close()
})

beforeEach(async () => {
  page = await chromium.openTab()
})

afterEach(async () => {
  const { complaints, requests } = page
  await page.close()
  expect(complaints).toEqual([])
  expect(requests.filter((url) => !/^(file|data):/.test(url))).toEqual([])
})

it('says the essential on four screens of a phone, and folds the evidence', async () => {
  const [width, height] = PHONE
  await page.look(width, height, 'light')
  await page.open(pathToFileURL(files.get('report')!).href)
  await page.reads('.sentence', /^✗ Failed at 20\s%: [\d.]+\s% of calls succeeded, the minimum is/)
  const evidence = `document.querySelector('.run > h2').getBoundingClientRect().bottom`
  expect(await page.evaluate<number>(evidence)).toBeLessThan(4 * height)
  expect(await page.evaluate<number>(`document.querySelectorAll('details[open]').length`)).toBe(0)
  await page.screenshot(`${PICTURES}phone-light.png`)
})

it.each([
  ['report', 'light', WIDE],
  ['report', 'dark', PHONE],
  ['compared', 'light', PHONE],
  ['compared', 'dark', WIDE],
] as const)(
  'the page %s of an experiment is accessible and not cut, %s, %j',
  async (name, scheme, [width, height]) => {
    await page.look(width, height, scheme)
    await page.open(pathToFileURL(files.get(name)!).href)
    await page.screenshot(`${PICTURES}${name}-${scheme}.png`)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(width)
    await page.evaluate(
      `document.querySelectorAll('details').forEach((each) => (each.open = true))`,
    )
    await page.evaluate(
      await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
    )
    const found = await page.evaluate<readonly object[]>(`axe.run().then(({ violations }) =>
      violations.map(({ id, nodes }) => ({ id, at: nodes.map((n) => n.html) })))`)
    expect(found).toEqual([])
  },
)
