import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { ALIASES } from './scripts/lib/doors.mjs'
import { testFilesByPart } from './scripts/ci/test-files.mjs'

const slow = [...testFilesByPart()].flatMap(([part, files]) => (part === 'tests' ? [] : files))

export default defineConfig({
  resolve: { alias: ALIASES },
  test: {
    include: ['{test,packages/*/test}/**/*.test.ts'],
    // What `npm test` leaves to a part of `.ci/run` or `.ci/nightly`.
    exclude: slow,
    globalSetup: 'test/support/temporary-directory.ts',
    setupFiles: [
      'test/support/property-seed.ts',
      'test/support/listener-leaks.ts',
      ...(process.env['SQUALL_TEST_TIMES'] === undefined ? [] : ['test/support/file-times.ts']),
    ],
    // Several times what a test takes on a machine that is busy with ten other programs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    // Files share the modules of their worker: importing the source for each file took longer than the tests.
    isolate: false,
    // Much of the time is waiting: on two cores four workers finish sooner than two. Each more loads
    // the whole source once more, which takes five seconds of CPU.
    maxWorkers: Math.max(4, availableParallelism()),
    // Keeps transformed modules by their content in node_modules, for all configurations.
    experimental: { fsModuleCache: true },
    coverage: { include: ['{src,packages/*/src}/**'], reporter: ['text-summary', 'json-summary'] },
  },
})
