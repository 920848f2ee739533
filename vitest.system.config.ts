import { defineConfig } from 'vitest/config'
import { PARTS } from './scripts/ci/parts.mjs'
import { testFilesByPart } from './scripts/ci/test-files.mjs'
import { ALIASES } from './scripts/lib/doors.mjs'

const files = testFilesByPart()

export default defineConfig({
  resolve: { alias: ALIASES },
  test: {
    globalSetup: 'test/support/temporary-directory.ts',
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    experimental: { fsModuleCache: true },
    projects: [...PARTS.values()]
      .filter(({ system }) => system)
      .map(({ name, workers }, groupOrder) => ({
        extends: true as const,
        test: {
          name,
          include: files.get(name) ?? [],
          maxWorkers: workers ?? 1,
          sequence: { groupOrder },
        },
      })),
  },
})
