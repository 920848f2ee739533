import { decide, type DecideParts } from './decide.ts'
import type { RulesParts } from './decide-rules.ts'
import type { Route } from './review-handler.ts'

/**
 * Returns what is decided at which path. What checks rules needs their parser, which is loaded with
 * the first of them.
 */
export function createRoutes(parts: DecideParts, timeoutMs: number): ReadonlyMap<string, Route> {
  let checked: Promise<RulesParts> | undefined
  const rulesParts = (): Promise<RulesParts> =>
    (checked ??= import('./check-rules.ts').then(({ RulesChecker }) => ({
      ...parts,
      checker: new RulesChecker(timeoutMs),
    })))
  return new Map<string, Route>([
    ['/mutate', { subject: 'injection', decide: (review) => decide(review, parts) }],
    [
      '/validate-rules',
      {
        subject: 'rules',
        decide: async (review) =>
          (await import('./decide-rules.ts')).decideRules(review, await rulesParts()),
      },
    ],
    [
      '/mutate-rules',
      {
        subject: 'anchor',
        decide: async (review) =>
          (await import('./decide-anchor.ts')).decideAnchor(review, await rulesParts()),
      },
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
