import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { allTestFiles } from './scripts/ci/test-files.mjs'
import { ALIASES } from './scripts/lib/doors.mjs'

/** Tests that do a few rounds or cases of what they have in `npm test`, and here all of them. */
const repeating = allTestFiles().filter((path) =>
  readFileSync(path, 'utf8').includes('support/rounds.ts'),
)

export default defineConfig({
  resolve: { alias: ALIASES },
  test: {
    include: repeating,
    env: { SQUALL_TEST_ROUNDS: 'many' },
    globalSetup: 'test/support/temporary-directory.ts',
    setupFiles: ['test/support/property-seed.ts', 'test/support/listener-leaks.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    maxWorkers: 2,
    experimental: { fsModuleCache: true },
  },
})
