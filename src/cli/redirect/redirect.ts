import { applyRules } from '../../cluster/redirect/nft.ts'
import { releaseRuleset, ruleset, undoRuleset } from '../../cluster/redirect/ruleset.ts'
import type { RedirectRequest } from './redirect-options.ts'

/** Takes traffic over, or gives it back; the result is the exit code. */
export async function redirectCommand({ plan, dryRun, nft }: RedirectRequest): Promise<number> {
  const rules =
    plan === 'undo' ? undoRuleset() : plan === 'release' ? releaseRuleset() : ruleset(plan)
  if (dryRun) {
    process.stdout.write(rules)
    return 0
  }
  await applyRules(rules, nft)
  process.stdout.write(
    typeof plan === 'string'
      ? 'nothing is redirected any more\n'
      : `redirecting ${plan.redirects.map(({ from, to }) => `${from} to ${to}`).join(', ')}\n`,
  )
  return 0
}
