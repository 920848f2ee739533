import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/system/**'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    pool: 'forks',
    coverage: { include: ['src/**'], reporter: ['text-summary', 'json-summary'] },
  },
})
