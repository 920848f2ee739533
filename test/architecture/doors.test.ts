import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { testSources } from './source-files.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const DOORS = ['wire', 'commands', 'cluster'].map((name) => `test/support/${name}.ts`)
/** The most functions that the doors may have to start something. */
const MAX_STARTS = 9
/** Modules behind the doors that tests import as well, each with the reason. The list only shrinks. */
const DEEP: Readonly<Record<string, string>> = {
  'test/support/cluster/shop.ts': 'loads every command',
  'test/support/commands/command-line.ts': 'loads every command',
  'test/support/wire/rules.ts': 'loads the planner of the proxy',
  'test/support/wire/servers/conformance-server.ts': 'loads an SDK',
  'test/support/wire/servers/event-store.ts': 'loads an SDK',
  'test/support/wire/sidecar-process.ts': 'loads the injector',
}
/** Modules that take long to load: a door loads them when a test starts something. */
const HEAVY =
  /^@modelcontextprotocol\/|^src\/(cli|listener|sidecar)\/|^packages\/\w+\/src\/(cli|commands)\//
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
/** Where a name of a door is declared: by `door name`. */
const homes = new Map<string, string>()
for (const door of DOORS) {
  const { text } = modules.get(door)!
  for (const [, list = '', from = ''] of text.matchAll(
    /^export (?:type )?\{([^}]*)\} from '([^']+)'/gm,
  )) {
    for (const [name] of namesIn(list.replaceAll('type ', ''))) {
      homes.set(`${door} ${name}`, join(dirname(door), from))
    }
  }
}
const starting = [...homes.keys()]
  .map((key) => key.split(' ')[1]!)
  .filter((name) => /^(?:start|open)[A-Z]/.test(name))

/** Returns the module that declares a name of another, which may be a door. */
function homeOf(from: string, name: string): string {
  return homes.get(`${from} ${name}`) ?? from
}

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
      !starting.includes(name) && known.has(`${homeOf(from, name)} ${name}`) && calls(code, local),
  )
}

/** Returns the paths and packages that a module loads with itself. */
function loadedBy(path: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(path)) return found
  found.add(path)
  for (const [, from = ''] of modules
    .get(path)
    ?.text.matchAll(/^(?:import|export) (?:\{[^}]*\} from )?'([^']+)'/gm) ?? []) {
    if (from.startsWith('.')) loadedBy(join(dirname(path), from), found)
    else found.add(from)
  }
  return found
}

/** Returns the modules that a module imports, also as types and later. */
function importsOf({ path, text }: Module): readonly string[] {
  return [...text.matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, from = '']) =>
    join(dirname(path), from),
  )
}

it('the doors start things by fewer than ten functions, each declared once behind its door', () => {
  expect(starting.length).toBeGreaterThan(0)
  expect(starting.length, 'add an option to one of them').toBeLessThanOrEqual(MAX_STARTS)
  for (const [key, home] of homes) {
    const [door = '', name = ''] = key.split(' ')
    expect(home.startsWith(door.replace('.ts', '/')), key).toBe(true)
    if (!starting.includes(name)) continue
    expect(contributing).toContain(`\`${name}\``)
    const declaring = [...modules.values()].filter(({ text }) =>
      new RegExp(`^export (?:async )?(?:function|const) ${name}\\b`, 'm').test(text),
    )
    expect(declaring.map(({ path }) => path)).toEqual([home])
  }
})

it('tests import what is behind the doors by the doors', () => {
  const passing: string[] = []
  const deep = new Set<string>()
  for (const module of modules.values()) {
    if (module.path.startsWith('test/support/')) continue
    for (const from of importsOf(module)) {
      if (/^test\/support\/\w+\//.test(from)) deep.add(from)
    }
    for (const { from, name } of module.imports.values()) {
      const door = DOORS.find((path) => homes.get(`${path} ${name}`) === from)
      if (door !== undefined) passing.push(`${module.path}: ${name} is in ${door}`)
    }
  }
  expect(passing).toEqual([])
  expect([...deep].toSorted()).toEqual(Object.keys(DEEP).toSorted())
})

it.each(DOORS)('%s loads no SDK, command or proxy', (door) => {
  expect([...loadedBy(door)].filter((path) => HEAVY.test(path))).toEqual([])
})

it('tests start processes and servers by these doors alone', () => {
  const starters = findStarters()
  expect(starters.size).toBeGreaterThan(20)
  const passing: string[] = []
  for (const module of modules.values()) {
    if (!module.path.endsWith('.test.ts')) continue
    if (startsItself(module, module.text)) passing.push(`${module.path}: starts something itself`)
    for (const { from, name } of module.imports.values()) {
      const home = homeOf(from, name)
      if (!starting.includes(name) && starters.has(`${home} ${name}`))
        passing.push(`${module.path}: ${name} of ${home}`)
    }
  }
  expect(passing).toEqual([])
})
