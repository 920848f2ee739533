// Puts the files of the pages beside the built code that serves or writes them: tsc copies no such files.
import { cp } from 'node:fs/promises'

for (const [source, page] of [
  ['admin/page/', 'admin/page/'],
  ['lab/report/page/', 'report/page/'],
]) {
  const from = new URL(`../src/${source}`, import.meta.url)
  const to = new URL(`../dist/${page}`, import.meta.url)
  await cp(from, to, { recursive: true })
}
