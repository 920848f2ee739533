import type { Target } from './target.ts'

/** A target before it is loaded: what its code does while it is loaded is counted too. */
export interface LoadableTarget {
  readonly files: readonly string[]
  readonly load: () => Promise<Target>
}

const inFast = (file: string): string => `http/fast/${file}`

/** The fuzz targets by name. */
export const TARGETS: Readonly<Record<string, LoadableTarget>> = {
  requests: {
    files: ['request-reader', 'fast-request-head', 'header-lines', 'head-memo'].map(inFast),
    load: async () => (await import('./requests.ts')).requestsTarget,
  },
  responses: {
    files: ['response-reader', 'fast-response-head', 'chunk-reader', 'header-lines'].map(inFast),
    load: async () => (await import('./responses.ts')).responsesTarget,
  },
  memo: {
    files: [...['head-memo', 'request-reader', 'response-reader'].map(inFast), 'mcp/request-facts'],
    load: async () => (await import('./memo.ts')).memoTarget,
  },
  outcome: {
    files: ['mcp/body-outcome', 'mcp/outline', 'base/json/json-scan'],
    load: async () => (await import('./outcome.ts')).outcomeTarget,
  },
}
