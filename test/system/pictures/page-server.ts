import { createRequire } from 'node:module'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DashboardPicture } from './picture.ts'
import { startUpstream } from '../../support/upstream.ts'

const PAGE = fileURLToPath(new URL('page/', import.meta.url))
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
export interface PageServer {
  readonly url: string
  /** What is drawn by whoever opens the page from now on. */
  show(picture: DashboardPicture): void
  close(): Promise<void>
}

/** Serves everything from loopback. */
export async function startPageServer(): Promise<PageServer> {
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
