// Puts the files of the pages beside the built code that serves or writes them: tsc copies no such files.
import { cp } from 'node:fs/promises'

for (const page of ['admin/page/', 'report/page/']) {
  const from = new URL(`../src/${page}`, import.meta.url)
  const to = new URL(`../dist/${page}`, import.meta.url)
  await cp(from, to, { recursive: true })
}
