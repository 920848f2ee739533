import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Tests that are slow or of rare trouble; `npm run test:system` runs them beside each other. */
export const WAITING = [
  'test/architecture/lint.test.ts',
  'test/bench/search-runs.test.ts',
  'test/cli/drain-unfinished.test.ts',
  'test/cli/drain.test.ts',
  'test/cli/load.test.ts',
  'test/cli/mcp/approval-trouble.test.ts',
  'test/cli/mcp/control.test.ts',
  'test/cli/mcp/evidence.test.ts',
  'test/cli/mcp/hostile.test.ts',
  'test/cli/mcp/limit.test.ts',
  'test/cli/mcp/next.test.ts',
  'test/cluster/kube/apply-targets.test.ts',
  'test/cluster/webhook/mounted-certificate.test.ts',
  'test/docs/pages.test.ts',
  'test/examples/catalogs.test.ts',
  'test/examples/storms.test.ts',
  'test/faults/shaped-delays.test.ts',
  'test/interop/everything.test.ts',
  'test/lab/experiment/alerts.test.ts',
  'test/lab/experiment/conditions.test.ts',
  'test/lab/experiment/expectations.test.ts',
  'test/lab/experiment/history.test.ts',
  'test/lab/experiment/in-cluster.test.ts',
  'test/lab/experiment/killed.test.ts',
  'test/lab/experiment/pods-rules.test.ts',
  'test/lab/experiment/rejections.test.ts',
  'test/lab/experiment/rollback-on.test.ts',
  'test/lab/experiment/same-rules.test.ts',
  'test/lab/search/command.test.ts',
  'test/lab/search/limit.test.ts',
  'test/lab/search/pods.test.ts',
  'test/lab/search/rejected.test.ts',
  'test/lab/simulate/simulate.test.ts',
  'test/live/reload-storm.test.ts',
  'test/live/rollback-on.test.ts',
  'test/matrix/sdk-v2-auto.test.ts',
  'test/system/waiting/**/*.test.ts',
]

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/system/**', ...WAITING],
    setupFiles: ['test/support/property-seed.ts'],
    // Several times what a test takes on a machine that is busy with ten other programs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Files share the modules of their worker: importing the source for each file took longer than the tests.
    isolate: false,
    // Much of the time is waiting: on two cores four workers finish sooner than two.
    maxWorkers: Math.max(4, availableParallelism()),
    coverage: { include: ['src/**'], reporter: ['text-summary', 'json-summary'] },
  },
})
