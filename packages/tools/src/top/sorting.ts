import type { Combined } from './combined.ts'

/** The orders of the tables: `usual` is that of the rules file, of most errors, or of time. */
export const SORTINGS = ['usual', 'name', 'calls', 'errors', 'latency'] as const

export type Sorting = (typeof SORTINGS)[number]

/** The tables that an order changes; a table without the column keeps its order. */
const TABLES: Readonly<Record<Sorting, (combined: Combined) => Partial<Combined>>> = {
  usual: () => ({}),
  name: ({ rules, tools, errors }) => ({
    rules: byText(rules, ({ name }) => name),
    tools: byText(tools, ({ tool }) => tool),
    errors: byText(errors, ({ called }) => called),
  }),
  calls: ({ rules, tools, errors }) => ({
    rules: byNumber(rules, ({ matched }) => matched),
    tools: byNumber(tools, ({ calls }) => calls),
    errors: byNumber(errors, ({ count }) => count),
  }),
  errors: ({ rules, tools, errors }) => ({
    rules: byNumber(rules, ({ applied }) => applied),
    tools: byNumber(tools, ({ injected, real, squall }) => injected + real + squall),
    errors: byNumber(errors, ({ count }) => count),
  }),
  latency: ({ tools }) => ({ tools: byNumber(tools, ({ latency }) => latency.p95 ?? -1) }),
}

export function sorted(combined: Combined, sorting: Sorting): Combined {
  return { ...combined, ...TABLES[sorting](combined) }
}

function byNumber<T>(all: readonly T[], of: (item: T) => number): readonly T[] {
  return [...all].sort((a, b) => of(b) - of(a))
}

function byText<T>(all: readonly T[], of: (item: T) => string): readonly T[] {
  return [...all].sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0))
}
