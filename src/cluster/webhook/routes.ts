import { decide, type DecideParts } from './decide.ts'
import type { Route } from './review-handler.ts'

/**
 * Returns what is decided at which path. What checks rules needs their parser, which is loaded with
 * the first of them.
 */
export function createRoutes(parts: DecideParts, timeoutMs: number): ReadonlyMap<string, Route> {
  let rules: Promise<Route['decide']> | undefined
  const loadRules = async (): Promise<Route['decide']> => {
    const [{ decideRules }, { RulesChecker }] = await Promise.all([
      import('./decide-rules.ts'),
      import('./check-rules.ts'),
    ])
    const checker = new RulesChecker(timeoutMs)
    return (review) => decideRules(review, { ...parts, checker })
  }
  return new Map<string, Route>([
    ['/mutate', { subject: 'injection', decide: (review) => decide(review, parts) }],
    [
      '/validate-rules',
      { subject: 'rules', decide: async (review) => (await (rules ??= loadRules()))(review) },
    ],
    [
      '/validate-workloads',
      {
        subject: 'workload',
        decide: async (review) =>
          (await import('./decide-workload.ts')).decideWorkload(review, parts),
      },
    ],
  ])
}
