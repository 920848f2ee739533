// Which parts of `.ci/run` a change can break. A path that no row names can break everything.
import { spawnSync } from 'node:child_process'
import { MERGE } from './parts.mjs'
import { FAST, partOf } from './test-files.mjs'

/** Checks of any source. */
const CODE = ['format', 'lint', 'weight', 'types', 'reference', 'tests']
const EVERYTHING = MERGE.map(({ name }) => name)

/** The first row that matches a path counts. */
const AREAS = [
  [
    /^(docs\/(?!decisions\/)|[A-Z]+\.md$|examples\/.*\.md$)/,
    'documents',
    ['format', 'reference', 'tests', 'site', 'package', 'docs'],
  ],
  [
    /^(docs\/decisions\/|LICENSE$|\.github\/)/,
    'decisions, forms and workflows',
    ['format', 'tests', 'site', 'docs'],
  ],
  [/^site\//, 'the site', ['format', 'lint', 'tests', 'site']],
  [/^bench\//, 'benchmarks', ['format', 'lint', 'types', 'tests']],
  [
    /^(src\/admin\/page|packages\/experiments\/src\/report)\//,
    'pages',
    [...CODE, 'browser', 'slow', 'package'],
  ],
  [/^action\//, 'the action of GitHub', ['format', 'lint', 'slow']],
  [/^python\//, 'the plugin of pytest', ['format', 'clients']],
  [/^packages\/tools\//, 'views in a terminal', [...CODE, 'terminal', 'package']],
  [
    /^packages\/experiments\//,
    'experiments',
    [
      ...CODE,
      'demo',
      'slow',
      'clients',
      'api-server',
      'prometheus',
      'browser',
      'terminal',
      'package',
    ],
  ],
  [
    /^(packages\/kubernetes|deploy\/(chart|manifests))\//,
    'Kubernetes',
    [...CODE, 'slow', 'pod', 'api-server', 'prometheus', 'terminal', 'package'],
  ],
  [
    /^(deploy\/(dashboards|grafana|prometheus|alerts)|scripts\/dashboards)\//,
    'dashboards and alerts',
    [...CODE, 'api-server', 'prometheus'],
  ],
]

/** Returns the paths that changed since a commit, also those that are not committed. */
export function changedSince(commit) {
  const git = (...args) => {
    const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`git ${args[0]}: ${stderr.trim()}`)
    return stdout.split('\n').filter(Boolean)
  }
  const [base] = git('merge-base', commit, 'HEAD')
  return [
    ...new Set([
      ...git('diff', '--name-only', '--no-renames', base),
      ...git('ls-files', '--others', '--exclude-standard'),
    ]),
  ]
}

/** Returns what a path can break: the name of its area and the parts, or `undefined` for everything. */
function areaOf(path, exists) {
  if (path.endsWith('.test.ts') && exists(path)) {
    const part = partOf(path)
    return { area: `tests of ${part}`, parts: part === FAST ? CODE : [...CODE, part] }
  }
  const row = AREAS.find(([pattern]) => pattern.test(path))
  return row && { area: row[1], parts: row[2] }
}

/**
 * Returns the names of the parts to run after a change of these paths, and for each other part of
 * `.ci/run` why it is left out.
 */
export function partsFor(paths, exists) {
  const areas = paths.map((path) => ({ path, ...areaOf(path, exists) }))
  const unknown = areas.filter(({ area }) => area === undefined)
  const known = new Map(areas.filter(({ area }) => area).map(({ area, parts }) => [area, parts]))
  const run = unknown.length > 0 ? new Set(EVERYTHING) : new Set([...known.values()].flat())
  const names = [...known.keys()].join(', ')
  const left = EVERYTHING.filter((name) => !run.has(name))
  return {
    run: [
      ...EVERYTHING.filter((name) => run.has(name)),
      ...[...run].filter((name) => !EVERYTHING.includes(name)),
    ],
    left: left.map((name) => ({ name, why: `a change of ${names} alone cannot break it` })),
    everythingFor: unknown.map(({ path }) => path),
  }
}
