import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { testSources } from './source-files.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MAX_DOORS = 9
/** Matches imports of the Node modules that can start a process or create a server. */
const NODE_IMPORT =
  /^import \{([^}]*)\} from 'node:(child_process|cluster|http|https|http2|net|tls|worker_threads)'/gm
const STARTING = new Set(['spawn', 'fork'])
const SERVING = new Set(['createServer', 'createSecureServer'])

interface Module {
  readonly path: string
  readonly text: string
  /** Top-level declarations by name. */
  readonly declarations: ReadonlyMap<string, string>
  /** Names that the module imports, static or later: where from, and what they are called there. */
  readonly imports: ReadonlyMap<string, { readonly from: string; readonly name: string }>
}

const modules = new Map<string, Module>()
for (const path of await testSources()) {
  if (!path.endsWith('.ts')) continue
  modules.set(path, readModule(path, await readFile(ROOT + path, 'utf8')))
}
const contributing = await readFile(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
const doors = [...contributing.matchAll(/^ {2}- `(\w+)`/gm)].map(([, name]) => name!)

function namesIn(list: string): readonly (readonly [name: string, local: string])[] {
  const each = list.split(',').map((one) => one.trim())
  return each
    .filter((one) => one !== '' && !one.startsWith('type '))
    .map((one) => one.split(' as '))
    .map(([name = '', local = name]) => [name, local])
}

function readModule(path: string, text: string): Module {
  const declarations = new Map<string, string>()
  for (const part of text.split(/^(?=(?:export )?(?:async )?(?:function|class|const|let) )/m)) {
    const [, name] = /^(?:export )?(?:async )?(?:function|class|const|let) (\w+)/.exec(part) ?? []
    if (name !== undefined) declarations.set(name, (declarations.get(name) ?? '') + part)
  }
  const imports = new Map<string, { from: string; name: string }>()
  const resolved = (from: string): string => join(dirname(path), from)
  for (const [, list = '', from = ''] of text.matchAll(/^import \{([^}]*)\} from '(\.[^']+)'/gm)) {
    for (const [name, local] of namesIn(list)) imports.set(local, { from: resolved(from), name })
  }
  for (const [, from = '', name = ''] of text.matchAll(/\(await import\('([^']+)'\)\)\.(\w+)/g)) {
    imports.set(name, { from: resolved(from), name })
  }
  return { path, text, declarations, imports }
}

/** Returns true if code starts a process, or a server of Node that listens. */
function startsItself({ text }: Module, code: string): boolean {
  for (const [, list = ''] of text.matchAll(NODE_IMPORT)) {
    for (const [name, local] of namesIn(list)) {
      if (STARTING.has(name) && calls(code, local)) return true
      if (SERVING.has(name) && code.includes('.listen(')) return true
    }
  }
  return false
}

function calls(code: string, name: string): boolean {
  return new RegExp(`(?<![.\\w/])${name}\\b`).test(code)
}

/** The declarations that start something, also by others that are no doors: `module name`. */
function findStarters(): ReadonlySet<string> {
  const starters = new Set<string>()
  for (let before = -1; before !== starters.size;) {
    before = starters.size
    for (const module of modules.values()) {
      for (const [name, code] of module.declarations) {
        if (starts(module, name, code, starters)) starters.add(`${module.path} ${name}`)
      }
    }
  }
  return starters
}

function starts(module: Module, self: string, code: string, known: ReadonlySet<string>): boolean {
  if (startsItself(module, code)) return true
  const own = [...module.declarations.keys()].filter((name) => name !== self)
  if (own.some((name) => known.has(`${module.path} ${name}`) && calls(code, name))) return true
  return [...module.imports].some(
    ([local, { from, name }]) =>
      !doors.includes(name) && known.has(`${from} ${name}`) && calls(code, local),
  )
}

it('CONTRIBUTING.md names fewer than ten doors, and test/support exports each once', () => {
  expect(doors.length).toBeGreaterThan(0)
  expect(doors.length, 'add an option to one of them').toBeLessThanOrEqual(MAX_DOORS)
  for (const door of doors) {
    const homes = [...modules.values()].filter(({ text }) =>
      new RegExp(`^export (?:async )?(?:function|const) ${door}\\b`, 'm').test(text),
    )
    expect(homes.map(({ path }) => dirname(path))).toEqual(['test/support'])
  }
})

it('tests start processes and servers by these doors alone', () => {
  const starters = findStarters()
  expect(starters.size).toBeGreaterThan(20)
  const passing: string[] = []
  for (const module of modules.values()) {
    if (!module.path.endsWith('.test.ts')) continue
    if (startsItself(module, module.text)) passing.push(`${module.path}: starts something itself`)
    for (const { from, name } of module.imports.values()) {
      if (!doors.includes(name) && starters.has(`${from} ${name}`))
        passing.push(`${module.path}: ${name} of ${from}`)
    }
  }
  expect(passing).toEqual([])
})
