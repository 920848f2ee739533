// Finds links of the built site that lead nowhere, as a visitor would: by the files and their anchors.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path/posix'

const HREF = /<(?:a|img|link|script|source)\b[^>]*? (?:href|src|srcset)="([^"]+)"/g
const ID = /<[^>]* id="([^"]+)"/g

/** Returns a line for each link to a file or an anchor of the site that does not exist. */
export async function deadLinks(directory, base) {
  const files = new Set(await readdir(directory, { recursive: true, encoding: 'utf8' }))
  const pages = new Map()
  for (const file of files) {
    if (file.endsWith('.html')) pages.set(file, await readFile(join(directory, file), 'utf8'))
  }
  const anchors = new Map(
    [...pages].map(([file, html]) => [file, new Set([...html.matchAll(ID)].map(([, id]) => id))]),
  )
  const isDead = (page, link) => {
    const { origin, pathname, hash } = new URL(link, `http://site${base}${page}`)
    if (origin !== 'http://site') return false
    const path = decodeURIComponent(pathname)
    if (!path.startsWith(base)) return true
    const file = path.slice(base.length).replace(/(?:^|(?<=\/))$/, 'index.html')
    const id = decodeURIComponent(hash.slice(1))
    return !files.has(file) || (id !== '' && anchors.get(file)?.has(id) === false)
  }
  return [...pages]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([page, html]) => {
      const links = new Set(
        [...html.matchAll(HREF)].map(([, link]) => link.replaceAll('&amp;', '&')),
      )
      return [...links]
        .filter((link) => isDead(page, link))
        .map((link) => `${page}: dead link ${link}`)
    })
}
