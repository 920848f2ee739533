import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/system/**'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    pool: 'forks',
    // Much of the time is waiting: one worker less than there are cores would be one alone on two.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    coverage: { include: ['src/**'], reporter: ['text-summary', 'json-summary'] },
  },
})
