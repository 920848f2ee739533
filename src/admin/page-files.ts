import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { AdminResponse } from './admin-response.ts'
import type { Routes } from './routes.ts'

const HTML = 'text/html; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const JS = 'text/javascript; charset=utf-8'

/** Allows files of this port alone: nothing inline, no markup made from text. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
}

/** The files of the page; no other file is served. */
const OWN = [
  'base.css',
  'style.css',
  'cards.css',
  'tables.css',
  'narrow.css',
  'theme.js',
  'main.js',
  'changes.js',
  'charts.js',
  'destinations-card.js',
  'dom.js',
  'errors-table.js',
  'faults-table.js',
  'flows-table.js',
  'format.js',
  'history.js',
  'plot.js',
  'reload-card.js',
  'rule-filter.js',
  'rules-table.js',
  'state-card.js',
  'table.js',
  'tasks-card.js',
  'tools-table.js',
] as const

const LIBRARY = { 'uplot.js': 'uPlot.iife.min.js', 'uplot.css': 'uPlot.min.css' }

export function pageResponse(): Promise<AdminResponse> {
  return response(own('index.html'), HTML)
}

/** Returns the files that the page loads, by path. */
export function pageRoutes(): Routes {
  return [
    ...OWN.map((name) => route(name, () => own(name))),
    ...Object.entries(LIBRARY).map(([name, file]) => route(name, () => ofLibrary(file))),
  ]
}

function route(name: string, file: () => string | URL): Routes[number] {
  const type = name.endsWith('.css') ? CSS : JS
  return [`/page/${name}`, { read: () => response(file(), type) }]
}

/** Reads a file that reports share with the page. */
export function sharedFile(name: 'base.css' | 'plot.js' | keyof typeof LIBRARY): string {
  const isOwn = name === 'base.css' || name === 'plot.js'
  return readFileSync(isOwn ? own(name) : ofLibrary(LIBRARY[name]), 'utf8')
}

function own(name: string): URL {
  return new URL(`../admin/page/${name}`, import.meta.url)
}

/** Finds a file of uPlot on request: most sidecars never need it. */
function ofLibrary(file: string): string {
  const manifest = createRequire(import.meta.url).resolve('uplot/package.json')
  return join(dirname(manifest), 'dist', file)
}

async function response(file: string | URL, type: string): Promise<AdminResponse> {
  return { status: 200, type, body: await readFile(file, 'utf8'), headers: HEADERS }
}
