import { readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { sourceFiles } from './source-files.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const { paths: DOORS } = (
  JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [string]>> }
  }
).compilerOptions
type Graph = ReadonlyMap<string, readonly string[]>

/**
 * The imports of each file of the source: of values and types, also by doors, and those that are
 * loaded later.
 */
async function imports(): Promise<Graph> {
  const graph = new Map<string, readonly string[]>()
  for (const file of await sourceFiles()) {
    if (!/\.[jt]s$/.test(file)) continue
    const text = await readFile(join(ROOT, file), 'utf8')
    const found = text.matchAll(/(?:\bfrom |^import |\bimport\()'([.#][^']+)'/gm)
    graph.set(
      file,
      [...found].map(([, to = '']) =>
        to.startsWith('#') ? normalize(DOORS[to]?.[0] ?? to) : normalize(join(dirname(file), to)),
      ),
    )
  }
  return graph
}

/** Returns the files that import each other, directly or not, in groups. */
function circles(graph: Graph): readonly string[][] {
  const reached = new Map([...graph.keys()].map((file) => [file, reachable(graph, file)]))
  const isTwo = (one: string, other: string): boolean =>
    reached.get(one)!.has(other) && reached.get(other)!.has(one)
  const open = new Set([...graph.keys()].filter((file) => reached.get(file)!.has(file)).toSorted())
  const found: string[][] = []
  for (const file of open) {
    const members = [...open].filter((other) => isTwo(file, other))
    for (const member of members) open.delete(member)
    found.push(members)
  }
  return found
}

function reachable(graph: Graph, from: string): ReadonlySet<string> {
  const seen = new Set<string>()
  const next = [...(graph.get(from) ?? [])]
  for (let file = next.pop(); file !== undefined; file = next.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    next.push(...(graph.get(file) ?? []))
  }
  return seen
}

it('finds a circle of types, and one through a file that is loaded later', () => {
  const graph = new Map([
    ['a', ['b', 'c']],
    ['b', ['a']],
    ['c', ['d']],
    ['d', ['e']],
    ['e', ['c', 'f']],
    ['f', []],
  ])
  expect(circles(graph)).toEqual([
    ['a', 'b'],
    ['c', 'd', 'e'],
  ])
})

it('no files of src import each other', async () => {
  const graph = await imports()
  expect(graph.size).toBeGreaterThan(400)
  expect(graph.get('packages/experiments/src/commands/index.ts')).toContain(
    'packages/experiments/src/cli/load.ts',
  )
  expect(circles(graph)).toEqual([])
})
