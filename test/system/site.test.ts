// part: site
// The site as a visitor has it: installed by its own lock file, built under a path, served as files.
import { execFile } from 'node:child_process'
import type { RequestListener } from 'node:http'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
} from 'vitest'
import { deadLinks } from '../../site/links.mjs'
import { writePages } from '../../site/pages.mjs'
import { ROOT } from '../docs/blocks.ts'
import { type Browser, type BrowserPage, startBrowser } from '../support/commands.ts'
import { startUpstream } from '../support/wire.ts'

const BASE = '/squall/'
const OUT = `${ROOT}site/build/out`
const PICTURES = `${ROOT}build/site/`
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

const run = promisify(execFile)

/** Writes files below a temporary directory, which the end of the test removes. */
async function directoryWith(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-site-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), text)
  }
  return directory
}

it('finds links to pages and sections that do not exist', async () => {
  const directory = await directoryWith({
    'index.html': '<a href="/docs/a.html#there">a</a> <a href="/docs/a.html#gone">b</a>',
    'a.html': '<h2 id="there">There</h2> <a href="./lost.html">c</a> <img src="/other.png">',
  })
  expect(await deadLinks(directory, '/docs/')).toEqual([
    'a.html: dead link ./lost.html',
    'a.html: dead link /other.png',
    'index.html: dead link /docs/a.html#gone',
  ])
})

it('finds pages that are not in the navigation', async () => {
  const root = await directoryWith({
    'docs/README.md': '## Guides\n\n- [Listed](listed.md): a page\n',
    'docs/decisions/README.md': '',
    'docs/listed.md': '# Listed\n\n[A file](../src/file.ts)\n',
    'docs/lost.md': '# Lost\n',
  })
  const to = join(root, 'pages')
  const { problems } = await writePages({ root, to, repository: undefined })
  expect(problems).toEqual([
    'docs/decisions/README.md is not in the navigation: add it to docs/README.md',
    'docs/lost.md is not in the navigation: add it to docs/README.md',
  ])
  expect(await readFile(join(to, 'listed.md'), 'utf8')).toContain('\nA file\n')
})

it('leads from a file of the repository to its address', async () => {
  const root = await directoryWith({
    'docs/README.md': '- [Listed](listed.md): a page\n',
    'docs/decisions/README.md': '',
    'docs/listed.md': '[A file](../src/file.ts), [home](README.md#guides)\n',
  })
  const to = join(root, 'pages')
  await writePages({ root, to, repository: 'https://example.com/squall' })
  expect(await readFile(join(to, 'listed.md'), 'utf8')).toBe(
    '[A file](https://example.com/squall/blob/HEAD/src/file.ts), [home](./index.md#guides)\n',
  )
})

describe('the built site', () => {
  let files: Awaited<ReturnType<typeof served>>
  let home: string
  let chromium: Browser
  let page: BrowserPage

  beforeAll(async () => {
    await run('npm', ['ci', '--prefix', 'site'], { cwd: ROOT })
    const env = { ...process.env, SITE_BASE: BASE }
    await run(process.execPath, ['site/build.mjs'], { cwd: ROOT, env })
    files = await served()
    home = `http://127.0.0.1:${files.port}${BASE}`
    await mkdir(PICTURES, { recursive: true })
    chromium = await startBrowser()
  }, 480_000)

  afterAll(async () => {
    await chromium?.close()
    await files?.close()
  })

  beforeEach(async () => {
    page = await chromium.openTab()
    await page.look(1280, 900, 'light')
  })

  afterEach(async () => {
    const { complaints, requests } = page
    await page.close()
    expect(complaints).toEqual([])
    expect(requests.filter((url) => !url.startsWith(home) && !url.startsWith('data:'))).toEqual([])
  })

  it.each([
    ['429', /rateLimit|429/],
    ['hang', /hang/],
    ['exit code', /Exit codes/],
    ['annotation', /annotations/i],
  ])('the search finds %s', async (words, found) => {
    await page.open(home)
    await page.click('.VPNavBarSearch button')
    await page.reads('.VPLocalSearchBox', /Navigate|to select/i)
    await page.type('#localsearch-input', words)
    await page.reads('#localsearch-list li', found)
  })

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['light', 1600],
  ] as const)('fits a %s window of %d pixels', async (scheme, width) => {
    await page.look(width, 800, scheme)
    for (const path of [
      'index',
      'get-started/tutorial',
      'reference/faults/hang',
      'reference/plan',
    ]) {
      await page.open(`${home}${path}.html`)
      const name = `${path.replaceAll('/', '-')}-${scheme}-${width}`
      await page.screenshot(`${PICTURES}${name}.png`, [width, 1600])
      expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBe(width)
    }
  })
})

/** Serves the files of the site below its path. */
function served() {
  const listener: RequestListener = (request, response) => {
    const path = new URL(request.url!, 'http://site').pathname
    const file = join(OUT, path.slice(BASE.length - 1), path.endsWith('/') ? 'index.html' : '')
    if (existsSync(file)) {
      response.setHeader('content-type', TYPES[extname(file)] ?? 'text/plain')
      createReadStream(file).pipe(response)
    } else {
      response.writeHead(404).end()
    }
  }
  return startUpstream(listener)
}
