// part: pictures
import { mkdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dashboards, isElsewhere, panelsOf, type Dashboard } from '../dashboards/shipped.ts'
import { eventually } from '../support/eventually.ts'
import { type Browser, startBrowser, startSquall } from '../support/commands.ts'
import { PATIENCE } from './patience.ts'
import { takePicture, type DashboardPicture, type Line } from './pictures/picture.ts'
import type { Chapter, ChapterName, Story } from './pictures/story.ts'
import { type Prometheus, startPrometheus } from '../support/cluster.ts'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { startUpstream } from '../support/wire.ts'

const PICTURES = fileURLToPath(new URL('../../build/dashboards/', import.meta.url))
const SECONDS = { quiet: 12, armed: 16, disarmed: 12, broken: 14, well: 16 }
/** The upper part of a dashboard, for the documents. */
const WINDOW = [1600, 1000] as const
const EVERY = '500ms'
const STEP = 0.5
/** The range of rates, in seconds. */
const RATE_SECONDS = 3
/** The time until rates forget past calls, which may end up to two seconds later. */
const SETTLED = RATE_SECONDS + 4
/**
 * Errors per second that are seen: there are five or more where clients are not held up by the
 * machine.
 */
const SHOWN = 0.5
const boards = dashboards()

let story: Story
let prometheus: Prometheus
let chromium: Browser
let page: PageServer
let chapters: Record<ChapterName, Chapter>
const pictures = new Map<string, DashboardPicture>()

beforeAll(async () => {
  await mkdir(`${PICTURES}top`, { recursive: true })
  story = await startSquall({ scene: 'pictured' })
  const targets = story.sidecars.map(({ admin, pod }) => ({
    address: admin,
    labels: { namespace: 'shop', workload: 'tools', pod },
  }))
  prometheus = await startPrometheus(targets, [], EVERY)
  await eventually(async () => {
    const scraped = await prometheus.instant('count_over_time(squall_build_info[30s]) >= 2')
    return scraped.length === 2 ? undefined : 'Prometheus does not scrape yet'
  }, PATIENCE)
  chapters = await story.play(SECONDS)
  const from = chapters.quiet.from + RATE_SECONDS
  const { to } = chapters.well
  const choice = { rateInterval: `${RATE_SECONDS}s`, range: `${Math.round(to - from)}s` }
  for (const board of boards) {
    const span = { from, to, step: STEP }
    pictures.set(board.title, await takePicture(board, prometheus, span, choice))
  }
  chromium = await startBrowser()
  page = await startPageServer()
}, 240_000)

afterAll(async () => {
  await chromium?.close()
  await page?.close()
  await prometheus?.close()
  await story?.close()
})

/** The lines of a panel of a dashboard. */
function linesOf(title: string, panel: string): readonly Line[] {
  const picture = pictures.get(title)
  const found = picture?.panels.find(
    ({ panel: { title: its, type } }) => its === panel && type !== 'row',
  )
  if (found === undefined) throw new Error(`there is no panel ${panel} in ${title}`)
  return found.lines
}

/** Places of the times of a chapter, once rates have forgotten the chapter before. */
function placesOf(chapter: ChapterName): readonly number[] {
  const { times } = pictures.get('Squall / Overview')!
  const { from, to } = chapters[chapter]
  const within = times.flatMap((time, at) => (time > from + SETTLED && time < to ? [at] : []))
  expect(within.length).toBeGreaterThan(8)
  return within
}

/** The sum of those lines at each time of a chapter; a busy machine may miss scrapes of all. */
function during(chapter: ChapterName, lines: readonly Line[]): readonly number[] {
  const places = placesOf(chapter)
  const scraped = places.filter((at) => lines.some(({ values }) => values[at] != null))
  return (scraped.length > 0 ? scraped : places).map((at) =>
    lines.reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
  )
}

/** The values of a line in a chapter; a busy machine may miss a scrape. */
function known(chapter: ChapterName, { values }: Line): readonly number[] {
  return placesOf(chapter).flatMap((at) => values[at] ?? [])
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

describe.each([
  'Errors: injected and real',
  'Errors by tool: injected and real',
  'Errors by kind: injected and real',
])('%s', (title) => {
  const of = (kind: string): readonly Line[] =>
    linesOf('Squall / Overview', title).filter(({ name }) => name.startsWith(kind))

  it('shows injected errors while rules are armed, and no real ones', () => {
    expect(mean(during('armed', of('injected')))).toBeGreaterThan(SHOWN)
    expect(Math.max(...during('armed', of('real')))).toBe(0)
  })

  it('shows real errors while the upstream is broken, and no injected ones', () => {
    expect(mean(during('broken', of('real')))).toBeGreaterThan(SHOWN)
    expect(Math.max(...during('broken', of('injected')))).toBe(0)
  })

  it.each(['quiet', 'disarmed', 'well'] as const)('shows none in the chapter %s', (chapter) => {
    expect(Math.max(...during(chapter, [...of('injected'), ...of('real')]))).toBe(0)
  })
})

describe('the overview', () => {
  const lines = (title: string): readonly Line[] => linesOf('Squall / Overview', title)

  it('shows what is left of the tools, whoever takes from it', () => {
    const [tools] = [lines('Effective availability by tool')]
    expect(tools.map(({ name }) => name)).toEqual(['billing', 'echo', 'query', 'search', 'weather'])
    const of = (name: string): readonly Line[] => tools.filter(({ name: its }) => its === name)
    for (const tool of tools) expect(mean(during('quiet', [tool])), tool.name).toBe(1)
    for (const tool of ['query', 'echo', 'weather']) {
      expect(mean(during('armed', of(tool))), tool).toBeLessThan(0.9)
    }
    // A delay takes nothing away, and neither does a rule that only looks.
    for (const tool of ['search', 'billing']) expect(mean(during('armed', of(tool)))).toBe(1)
    for (const tool of tools) expect(mean(during('broken', [tool])), tool.name).toBeLessThan(0.9)
    for (const tool of tools) expect(mean(during('well', [tool])), tool.name).toBe(1)
  })

  it('shows delay while rules are armed, and that the upstream did not take it', () => {
    const latency = lines('Latency: client, upstream and injected delay (p95)')
    const of = (name: string): readonly Line[] => latency.filter(({ name: its }) => its === name)
    expect(mean(during('armed', of('injected delay')))).toBeGreaterThan(0.25)
    const added = (chapter: ChapterName): number =>
      mean(during(chapter, of('client'))) - mean(during(chapter, of('upstream')))
    expect(added('armed')).toBeGreaterThan(0.1)
    // Without delays it is what the machine adds, and how wide the buckets are.
    expect(Math.abs(added('broken'))).toBeLessThan(added('armed') / 2)
  })

  it('shows when each sidecar was armed', () => {
    const armed = lines('Armed')
    expect(armed).toHaveLength(2)
    for (const line of armed) {
      expect(new Set(known('armed', line))).toEqual(new Set([1]))
      for (const chapter of ['disarmed', 'broken', 'well'] as const) {
        expect(new Set(known(chapter, line)), chapter).toEqual(new Set([0]))
      }
    }
    expect(lines('Disarm reasons').filter(({ values }) => values[0] === 1)).not.toHaveLength(0)
  })

  it('marks when rules became active', () => {
    const { markers } = pictures.get('Squall / Overview')!
    const { armed } = chapters
    expect(markers.some(({ at }) => at > armed.from - 5 && at < armed.from + 2)).toBe(true)
  })
})

describe.each(boards.map((board): [string, Dashboard] => [board.title, board]))(
  '%s',
  (_, board) => {
    it('has data in every panel', () => {
      for (const { title, targets = [] } of panelsOf(board)) {
        // The story has no webhook, and its clients repeat no call.
        if (targets.some(({ expr }) => isElsewhere(expr))) continue
        const values = linesOf(board.title, title).flatMap((line) => line.values)
        expect(
          values.some((value) => value !== null),
          title,
        ).toBe(true)
      }
    })

    it.each(['light', 'dark'] as const)('is drawn in the %s look', async (scheme) => {
      page.show(pictures.get(board.title)!)
      const tab = await chromium.openTab()
      await tab.look(...WINDOW, scheme)
      await tab.open(page.url)
      await eventually(async () => {
        if (tab.complaints.length > 0) throw new Error(tab.complaints.join('\n'))
        return (await tab.evaluate('document.title')) === 'drawn' ? undefined : 'nothing is drawn'
      }, PATIENCE)
      const drawn = await tab.evaluate<number>(`document.querySelectorAll('[data-drawn]').length`)
      expect(drawn).toBe(panelsOf(board).length)
      const name = board.file.replace('.json', '')
      await tab.screenshot(`${PICTURES}${name}-${scheme}.png`)
      await tab.screenshot(`${PICTURES}top/dashboard-${name}-${scheme}.png`, WINDOW)
      expect(tab.requests.filter((url) => !url.startsWith(new URL('/', page.url).href))).toEqual([])
      await tab.close()
    })
  },
)

const PAGE = fileURLToPath(new URL('pictures/page/', import.meta.url))
const UPLOT = dirname(createRequire(import.meta.url).resolve('uplot/package.json'))
const KINDS: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
}
const FILES: Readonly<Record<string, string>> = {
  'uPlot.esm.js': join(UPLOT, 'dist/uPlot.esm.js'),
  'uPlot.min.css': join(UPLOT, 'dist/uPlot.min.css'),
  ...Object.fromEntries(
    ['index.html', 'style.css', 'draw.js', 'graphs.js', 'tables.js', 'units.js'].map((name) => [
      name,
      join(PAGE, name),
    ]),
  ),
}

/** A server of the page that draws, and of what it is to draw. */
interface PageServer {
  readonly url: string
  /** Sets the picture that the page draws from now on. */
  show(picture: DashboardPicture): void
  close(): Promise<void>
}

/** Serves everything from loopback. */
async function startPageServer(): Promise<PageServer> {
  let picture: DashboardPicture | undefined
  const app = await startUpstream((req, res): void => {
    const name = (req.url ?? '/').slice(1)
    res.setHeader('content-type', KINDS[name.split('.').at(-1) ?? ''] ?? 'text/plain')
    if (name === 'picture.json') {
      res.end(JSON.stringify(picture))
      return
    }
    const file = FILES[name]
    if (file === undefined) {
      res.writeHead(name === 'favicon.ico' ? 204 : 404).end()
      return
    }
    readFile(file).then(
      (text) => res.end(text),
      () => res.writeHead(500).end(),
    )
  })
  return {
    url: `http://127.0.0.1:${app.port}/index.html`,
    show: (next) => {
      picture = next
    },
    close: () => app.close(),
  }
}
