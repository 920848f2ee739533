import { defineConfig } from 'vitest/config'
import { WAITING } from './vitest.config.ts'

const named = (...names: readonly string[]): string[] =>
  names.map((name) => `test/system/${name}.test.ts`)

/** Tests that mostly wait: several run at a time. */
const BESIDE_EACH_OTHER = [
  ...WAITING,
  ...named('experiment-alerts', 'experiment-endings', 'experiments'),
]

/** Tests that measure time or memory, or whose verdicts depend on time. */
const ALONE = named(
  'agents-replay',
  'cluster',
  'cluster-stop',
  'database-blocked',
  'demo*',
  'experiment-verdicts',
  'held-streams',
  'indicators-agree',
  'load*',
  'memory',
  'newcomer',
  'one-budget',
  'prometheus*',
  'ready-plans*',
  'reload-storm',
  'soak',
  'status-watch',
  'stdio-soak',
)

/** Tests with a cluster, pods or network namespaces, of which there is one at a time. */
const CLUSTER = named(
  'api-server',
  'cluster-*',
  'experiment-pods',
  'kube*',
  'pod',
  'pod-outbound',
  'redirect*',
  'webhook-rotation',
)

const project = (name: string, include: string[], exclude: string[], maxWorkers = 1) => ({
  extends: true as const,
  test: { name, include, exclude, maxWorkers, sequence: { groupOrder: order[name]! } },
})
const order: Readonly<Record<string, number>> = { waiting: 1, cluster: 2, other: 3, alone: 4 }

export default defineConfig({
  test: {
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    projects: [
      project('waiting', BESIDE_EACH_OTHER, [], 3),
      project('cluster', CLUSTER, ALONE),
      project('other', ['test/system/**/*.test.ts'], [...BESIDE_EACH_OTHER, ...CLUSTER, ...ALONE]),
      project('alone', ALONE, []),
    ],
  },
})
