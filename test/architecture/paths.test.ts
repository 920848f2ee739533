import { access, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** A link of Markdown to a place in this project: the file, and the anchor. */
const LINK = /\]\((?![a-z]+:|<)([^)#\s]*)(?:#([^)\s]+))?\)/g
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
const PATH = /`((?:src|packages|test|docs|scripts|bench|deploy|examples)\/[\w./-]+)`/g

it('documents name files that exist', async () => {
  const pages = [...ROOT_PAGES, ...(await pagesIn('docs'))]
  const missing: string[] = []
  for (const page of pages) {
    const text = await readFile(join(ROOT, page), 'utf8')
    // Superseded decisions are about files of their time.
    if (text.includes('\nStatus: superseded by ')) continue
    for (const [, path] of text.matchAll(PATH)) {
      if (!(await isThere(path!))) missing.push(`${page}: ${path}`)
    }
  }
  expect(missing).toEqual([])
})

it('links of documents lead to files and sections', async () => {
  const below = await Promise.all(['docs', 'deploy', 'examples', 'test/system'].map(pagesIn))
  const dead: string[] = []
  for (const page of [...ROOT_PAGES, ...below.flat()]) {
    const text = (await readFile(join(ROOT, page), 'utf8')).replaceAll(FENCED, '')
    for (const [, link = '', anchor] of text.matchAll(LINK)) {
      const target = link === '' ? page : join(dirname(page), link)
      const isDead = !(await isThere(target)) || !(await hasSection(target, anchor))
      if (isDead) dead.push(`${page}: ${link}${anchor === undefined ? '' : `#${anchor}`}`)
    }
  }
  expect(dead).toEqual([])
})

it('links of the forms for bugs and needs lead to files', async () => {
  const dead: string[] = []
  let links = 0
  for (const name of await readdir(join(ROOT, '.github/ISSUE_TEMPLATE'))) {
    const text = await readFile(join(ROOT, '.github/ISSUE_TEMPLATE', name), 'utf8')
    // GitHub shows a form at /issues/new of the repository.
    for (const [, path] of text.matchAll(/\]\(\.\.\/blob\/HEAD\/([^)#]+)/g)) {
      links++
      if (!(await isThere(path!))) dead.push(`${name}: ${path}`)
    }
  }
  expect(links).toBeGreaterThan(0)
  expect(dead).toEqual([])
})

/** Returns whether a page has a heading with this anchor, as GitHub makes it of the text. */
async function hasSection(page: string, anchor: string | undefined): Promise<boolean> {
  if (anchor === undefined || !page.endsWith('.md')) return true
  const text = (await readFile(join(ROOT, page), 'utf8')).replaceAll(FENCED, '')
  const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
  return anchors.includes(anchor) || text.includes(`<a id="${anchor}">`)
}

it('every page of the documents is reached from their index', async () => {
  const index = await readFile(join(ROOT, 'docs/README.md'), 'utf8')
  const links = new Set([...index.matchAll(LINK)].map(([, link]) => join('docs', link!)))
  const pages = (await pagesIn('docs')).filter((page) => !/decisions|README/.test(page))
  expect(pages.filter((page) => !links.has(page))).toEqual([])
})

it('the index of decisions has the title and the status of each record', async () => {
  const index = await readFile(join(ROOT, 'docs/decisions/README.md'), 'utf8')
  const rows = [...index.matchAll(/^\| \[(\d+)\]\(([^)]+)\) +\| (.*?) +\| (.*?) +\|$/gm)]
  const listed = rows.map(([, number, file, title, status]) => [file, `${number} ${title}`, status])
  const names = await readdir(join(ROOT, 'docs/decisions'))
  const records = names.filter((name) => name !== 'README.md').sort()
  const written = records.map(async (file) => {
    const text = await readFile(join(ROOT, 'docs/decisions', file), 'utf8')
    const [, status] = /\nStatus: ((?:accepted|superseded by)(?: \[?\d{4})?)/.exec(text) ?? []
    return [file, /^# (.*)/.exec(text)?.[1], status?.replace('[', '')]
  })
  expect(listed).toEqual(await Promise.all(written))
})
