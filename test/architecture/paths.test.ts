import { access, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** A link of Markdown to a place in this project, up to its anchor. */
const LINK = /\]\((?![a-z]+:|#|<)([^)#\s]+)[^)\s]*\)/g
const FENCED = /^```[^]*?^```/gm

async function pagesIn(directory: string): Promise<readonly string[]> {
  const names = await readdir(join(ROOT, directory), { recursive: true })
  return names.filter((name) => name.endsWith('.md')).map((name) => `${directory}/${name}`)
}

async function isThere(path: string): Promise<boolean> {
  return access(join(ROOT, path)).then(
    () => true,
    () => false,
  )
}

const ROOT_PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']
const PATH = /`((?:src|test|docs|scripts|bench|deploy|examples)\/[\w./-]+)`/g

it('documents name files that exist', async () => {
  const pages = [...ROOT_PAGES, ...(await pagesIn('docs'))]
  const missing: string[] = []
  for (const page of pages) {
    const text = await readFile(join(ROOT, page), 'utf8')
    if (text.includes('\nStatus: superseded by ')) continue
    for (const [, path] of text.matchAll(PATH)) {
      if (!(await isThere(path!))) missing.push(`${page}: ${path}`)
    }
  }
  expect(missing).toEqual([])
})

it('links of documents lead to files', async () => {
  const below = await Promise.all(['docs', 'deploy', 'examples', 'test/system'].map(pagesIn))
  const dead: string[] = []
  for (const page of [...ROOT_PAGES, ...below.flat()]) {
    const text = (await readFile(join(ROOT, page), 'utf8')).replaceAll(FENCED, '')
    for (const [, link] of text.matchAll(LINK)) {
      if (!(await isThere(join(dirname(page), link!)))) dead.push(`${page}: ${link}`)
    }
  }
  expect(dead).toEqual([])
})

it('every page of the documents is reached from their index', async () => {
  const index = await readFile(join(ROOT, 'docs/README.md'), 'utf8')
  const links = new Set([...index.matchAll(LINK)].map(([, link]) => join('docs', link!)))
  const pages = (await pagesIn('docs')).filter((page) => !/decisions|notes|README/.test(page))
  expect(pages.filter((page) => !links.has(page))).toEqual([])
})
