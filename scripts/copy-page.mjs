// Puts the files of the pages beside the built code that serves or writes them, and the types beside the library.
import { cp } from 'node:fs/promises'

for (const [source, page] of [
  ['admin/page/', 'admin/page/'],
  ['lab/report/page/', 'report/page/'],
]) {
  const from = new URL(`../src/${source}`, import.meta.url)
  const to = new URL(`../dist/${page}`, import.meta.url)
  await cp(from, to, { recursive: true })
}

await cp(
  new URL('../build/js/cli/library/index.d.ts', import.meta.url),
  new URL('../dist/library/index.d.ts', import.meta.url),
)
