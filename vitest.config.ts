import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/system/**'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    pool: 'forks',
    // Much of the time is waiting: on two cores three workers are done sooner than two.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    coverage: { include: ['src/**'], reporter: ['text-summary', 'json-summary'] },
  },
})
