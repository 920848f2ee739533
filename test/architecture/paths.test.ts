import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PATH = /`((?:src|test|docs|scripts|bench|deploy|examples)\/[\w./-]+)`/g

it('documents name files that exist', async () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md']
  for (const page of await readdir(join(ROOT, 'docs'), { recursive: true })) {
    if (page.endsWith('.md')) pages.push(`docs/${page}`)
  }
  const missing: string[] = []
  for (const page of pages) {
    const text = await readFile(join(ROOT, page), 'utf8')
    if (text.includes('\nStatus: superseded by ')) continue
    for (const [, path] of text.matchAll(PATH)) {
      const exists = await access(join(ROOT, path!)).then(
        () => true,
        () => false,
      )
      if (!exists) missing.push(`${page}: ${path}`)
    }
  }
  expect(missing).toEqual([])
})
