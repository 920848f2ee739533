import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The parts that are embedded in the page, and the policy that lets a browser run nothing else. */
export interface PageParts {
  readonly style: string
  readonly scripts: readonly string[]
  readonly policy: string
}

const STYLES = ['report.css', 'tables.css', 'print.css'] as const
const SCRIPTS = ['format.js', 'charts.js'] as const

let parts: PageParts | undefined

/** The parts of the page, read once. */
export function pageParts(): PageParts {
  parts ??= readParts()
  return parts
}

function readParts(): PageParts {
  const style = [ofLibrary('uPlot.min.css'), ...STYLES.map(own)].join('\n')
  const scripts = [ofLibrary('uPlot.iife.min.js'), ...SCRIPTS.map(own)]
  for (const text of [style, ...scripts]) {
    // A part that ends its own element would be read as something else by a browser.
    if (/<\/(script|style)|<!--/i.test(text)) throw new Error('a part of the page ends its element')
  }
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.map(hash).join(' ')}`,
    `style-src ${hash(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
  return { style, scripts, policy }
}

function own(name: string): string {
  return unix(readFileSync(new URL(`../report/page/${name}`, import.meta.url), 'utf8'))
}

function ofLibrary(file: string): string {
  const manifest = createRequire(import.meta.url).resolve('uplot/package.json')
  return unix(readFileSync(join(dirname(manifest), 'dist', file), 'utf8'))
}

/** A parser of HTML reads each line break as one character, and so must the hash. */
function unix(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n')
}

function hash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
