import type { Target } from './target.ts'

/** A target before it is loaded: what its code does while it is loaded is counted too. */
export interface LoadableTarget {
  readonly files: readonly string[]
  readonly load: () => Promise<Target>
}

const PLAIN = 'mcp/plain/'

/** What can be fuzzed, by name. */
export const TARGETS: Readonly<Record<string, LoadableTarget>> = {
  requests: {
    files: [`${PLAIN}plain-request`, `${PLAIN}plain-lines`, `${PLAIN}head-memo`],
    load: async () => (await import('./requests.ts')).requestsTarget,
  },
  responses: {
    files: [`${PLAIN}plain-answer`, `${PLAIN}plain-chunks`, `${PLAIN}plain-lines`],
    load: async () => (await import('./responses.ts')).responsesTarget,
  },
  memo: {
    files: [`${PLAIN}head-memo`, `${PLAIN}plain-request`, `${PLAIN}plain-answer`, 'mcp/head-facts'],
    load: async () => (await import('./memo.ts')).memoTarget,
  },
  outcome: {
    files: ['mcp/body-outcome'],
    load: async () => (await import('./outcome.ts')).outcomeTarget,
  },
}
