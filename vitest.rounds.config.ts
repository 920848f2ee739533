import { defineConfig } from 'vitest/config'

/** Tests that do a few rounds or cases of what they have in `npm test`, and here all of them. */
const REPEATING = [
  'admin/api-fuzz',
  'cli/any-command-line',
  'datapath/byte-identity',
  'datapath/parser-agreement',
  'datapath/stale-connections',
  'faults/bursts',
  'faults/origins',
  'faults/outlook',
  'faults/reach',
  'faults/output-flow',
  'faults/small-pieces',
  'interop/drifted-content',
  'interop/messages',
  'live/replicas',
  'http/fast/response-reader',
  'rules/hostile-files',
  'rules/file/editor-schema',
  'rules/file/parse-off-thread',
  'rules/file/schema-findings',
  'rules/limits',
  'rules/mutated-files',
  'rules/rule-index',
  'rules/watch/rules-watcher',
  'rules/rules-watcher-invalid-input',
  'rules/rules-watcher-life',
  'base/regex/safe-regex',
  'rules/select/selection',
  'truth/any-rules',
  'telemetry/error-samples',
  'telemetry/hostile-names',
  'telemetry/rule-metrics',
  'truth/large-stream',
]

export default defineConfig({
  test: {
    include: REPEATING.map((name) => `test/${name}.test.ts`),
    env: { SQUALL_TEST_ROUNDS: 'many' },
    setupFiles: ['test/support/property-seed.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    pool: 'forks',
    fileParallelism: false,
  },
})
