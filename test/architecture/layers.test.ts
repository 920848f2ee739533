import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const OXLINT = join(ROOT, 'node_modules/.bin/oxlint')
const run = promisify(execFile)

let temporary: string
let layers: readonly string[]
/** The directories that each layer may import, by the table in docs/concepts/architecture.md. */
let allowed: ReadonlyMap<string, readonly string[]>
let packages: readonly string[]
/** The doors that each package may use, by the table of packages there. */
let opened: ReadonlyMap<string, readonly string[]>

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'squall-layers-'))
  const entries = await readdir(join(ROOT, 'src'), { withFileTypes: true })
  layers = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  packages = (await readdir(join(ROOT, 'packages'))).sort()
  const page = await readFile(join(ROOT, 'docs/concepts/architecture.md'), 'utf8')
  allowed = tableOf(page)
  opened = doorsOf(page)
})

afterAll(() => rm(temporary, { recursive: true, force: true }))

/** Reads rows such as: | `src/mcp` | what it holds | `base`, `http` |. */
function tableOf(page: string): ReadonlyMap<string, readonly string[]> {
  const rows = page.matchAll(/^\| `src\/([a-z]+)` +\|[^|]*\|([^|]*)\|$/gm)
  return new Map(
    [...rows].map(([, layer = '', may = '']) => [
      layer,
      may.includes('everything')
        ? layers.filter((name) => !may.includes(`\`${name}\``))
        : [...may.matchAll(/`([a-z]+)`/g)].map(([, name]) => name!),
    ]),
  )
}

/** Reads rows such as: | `packages/tools` | what it holds | `#base`, `#cli` |. */
function doorsOf(page: string): ReadonlyMap<string, readonly string[]> {
  const rows = page.matchAll(/^\| `packages\/([a-z]+)` +\|[^|]*\|([^|]*)\|$/gm)
  return new Map(
    [...rows].map(([, name = '', may = '']) => [
      name,
      [...may.matchAll(/`(#[a-z-]+)`/g)].map(([, door]) => door!),
    ]),
  )
}

/** Writes a file that imports from a place, below the temporary directory. */
async function plant(file: string, from: string): Promise<void> {
  const path = join(temporary, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `export { value } from '${from}'\n`)
}

/** The pairs `importer -> imported` that the lint rules reject, for files two directories deep. */
async function rejectedImports(): Promise<Set<string>> {
  for (const layer of layers) {
    for (const other of layers.filter((name) => name !== layer)) {
      const file = join(temporary, `src/${layer}/some/where/imports-${other}.ts`)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, `export { value } from '../../../${other}/else/where.ts'\n`)
    }
  }
  const rejected = await rejectedFiles()
  return new Set(
    rejected.map((file) => file.replace(/^.*src\/(\w+)\/.*imports-(\w+)\.ts$/, '$1 -> $2')),
  )
}

/** The files below the temporary directory of which lint rejects an import. */
async function rejectedFiles(): Promise<readonly string[]> {
  const config = join(temporary, '.oxlintrc.json')
  await cp(join(ROOT, '.oxlintrc.json'), config)
  const args = ['--config', config, '--format', 'json', '.']
  // oxlint ends with 1 when it finds something.
  const { stdout } = await run(OXLINT, args, { cwd: temporary }).catch(
    (error: { readonly stdout: string }) => error,
  )
  await rm(join(temporary, 'src'), { recursive: true, force: true })
  await rm(join(temporary, 'packages'), { recursive: true, force: true })
  const { diagnostics } = JSON.parse(stdout) as {
    readonly diagnostics: readonly { readonly code: string; readonly filename: string }[]
  }
  return diagnostics
    .filter(({ code }) => code.includes('no-restricted-imports'))
    .map(({ filename }) => filename)
}

/**
 * Writes what a file of src loads later by `import` or `require` as static imports, which lint
 * looks at; returns their number. Throws for a name that is computed, since nothing could check
 * where it leads.
 */
async function writeDynamicImports(path: string, text: string): Promise<number> {
  const calls = text.matchAll(
    /\b(?:import|require(?:\.resolve)?)\(\s*(?:(['"`])([^'"`$]+)\1|(.{0,40}))/g,
  )
  const found = [...calls].flatMap(([call, , to]) => {
    if (to === undefined) throw new Error(`${path}: name what is loaded, found ${call}`)
    return to.startsWith('.') ? [to] : []
  })
  if (found.length === 0) return 0
  const file = join(temporary, 'src', path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, found.map((to, n) => `export { value as v${n} } from '${to}'\n`).join(''))
  return found.length
}

describe('the layers of the source', () => {
  it('each have a row in the table of docs/concepts/architecture.md', () => {
    expect([...allowed.keys()].sort()).toEqual([...layers].sort())
  })

  it('have a directory in test, and the page names each other one there', async () => {
    const entries = await readdir(join(ROOT, 'test'), { withFileTypes: true })
    const tested = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    expect(layers.filter((layer) => !tested.includes(layer))).toEqual([])
    const page = await readFile(join(ROOT, 'docs/concepts/architecture.md'), 'utf8')
    const named = [...page.matchAll(/`test\/(\w+)`/g)].map(([, name]) => name!)
    const others = tested.filter((name) => !layers.includes(name))
    expect([...new Set(named)].sort()).toEqual(others.sort())
  })

  it('import what the table allows, and lint rejects the rest in every sub-directory', async () => {
    const rejected = await rejectedImports()
    const expected = layers.flatMap((layer) =>
      layers
        .filter((other) => other !== layer && !allowed.get(layer)!.includes(other))
        .map((other) => `${layer} -> ${other}`),
    )
    expect([...rejected].sort()).toEqual(expected.sort())
  })

  it('load no file later that they may not import', async () => {
    let imports = 0
    for (const path of await readdir(join(ROOT, 'src'), { recursive: true })) {
      if (!path.endsWith('.ts')) continue
      imports += await writeDynamicImports(path, await readFile(join(ROOT, 'src', path), 'utf8'))
    }
    const planted = [
      `await import('../../../cli/files.ts')`,
      `await import("../../../cli/files.ts")`,
      'await import(`../../../cli/files.ts`)',
      `await import(\n  '../../../cli/files.ts',\n)`,
      `type FlagInput = import('../../../cli/flags/flag.ts').FlagInput`,
      `createRequire(import.meta.url)('./x.js'); require('../../../cli/files.ts')`,
    ]
    const paths = planted.map((_, n) => `listener/faults/chain/planted-${n}.ts`)
    for (const [n, text] of planted.entries()) await writeDynamicImports(paths[n]!, text)
    expect(imports).toBeGreaterThan(30)
    const rejected = (await rejectedFiles()).map((file) => file.replace(/^.*?src\//, ''))
    expect(rejected.sort()).toEqual(paths)
    await expect(writeDynamicImports('rules/planted.ts', 'import(name)')).rejects.toThrow(
      'name what',
    )
  })

  it('import no package, and no door', async () => {
    const places = ['cli/some/where/planted.ts', 'listener/planted.ts', 'base/text/planted.ts']
    for (const [n, place] of places.entries()) {
      await plant(`src/${place}`, '../../../packages/tools/src/commands/index.ts')
      await plant(`src/${place.replace('planted', 'door')}`, n === 0 ? '#base' : '#cli')
    }
    await plant('src/cli/squall.ts', '../../packages/tools/src/commands/index.ts')
    expect(await rejectedFiles()).toHaveLength(2 * places.length)
  })

  it('keep the faults alone beside their contract and their list', async () => {
    const files = await readdir(join(ROOT, 'src/filters'))
    const index = await readFile(join(ROOT, 'src/filters/index.ts'), 'utf8')
    const faults = files.filter(
      (name) => name.endsWith('.ts') && name !== 'index.ts' && name !== 'fault.ts',
    )
    const missing = faults.filter((name) => !index.includes(`'./${name}'`))
    expect(missing, 'import each fault in src/filters/index.ts').toEqual([])
    expect(faults.length).toBeGreaterThan(0)
  })
})

describe('the packages', () => {
  it('each have a row in the table of docs/concepts/architecture.md, a page and a directory of tests', async () => {
    expect([...opened.keys()].sort()).toEqual(packages)
    for (const name of packages) {
      const names = await readdir(join(ROOT, 'packages', name))
      expect(names).toEqual(expect.arrayContaining(['README.md', 'package.json', 'src', 'test']))
    }
  })

  it('use the doors that the table names, and lint rejects the rest in every sub-directory', async () => {
    const { paths } = JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8'))
      .compilerOptions as { readonly paths: Readonly<Record<string, unknown>> }
    const doors = Object.keys(paths)
    expect(doors.length).toBe(7)
    for (const name of packages) {
      for (const door of doors) {
        await plant(`packages/${name}/src/some/where/by-${door.slice(1)}.ts`, door)
        await plant(`packages/${name}/src/by-${door.slice(1)}.ts`, door)
      }
    }
    const expected = packages.flatMap((name) =>
      doors
        .filter((door) => !opened.get(name)!.includes(door))
        .flatMap((door) => [`${name} ${door}`, `${name} ${door}`]),
    )
    const rejected = (await rejectedFiles()).map((file) =>
      file.replace(/^.*packages\/(\w+)\/.*by-([a-z-]+)\.ts$/, '$1 #$2'),
    )
    expect(rejected.sort()).toEqual(expected.sort())
  })

  it('reach no module of others but by a door', async () => {
    const files = packages.flatMap((name) => [
      [`packages/${name}/src/top.ts`, '../../../src/base/values.ts'],
      [`packages/${name}/src/some/where/deep.ts`, '../../../../../src/rules/file/parse.ts'],
      [`packages/${name}/src/some/other.ts`, '../../../other/src/commands/index.ts'],
    ])
    for (const [file = '', from = ''] of files) await plant(file, from)
    expect(await rejectedFiles()).toHaveLength(files.length)
  })
})
