import { plain } from '../../base/text/foreign-text.ts'
import type { Call } from '../../mcp/call.ts'
import { explain, type Explanation } from '../../rules/explain/explain.ts'
import { explainText } from '../../rules/explain/explain-text.ts'
import { createGuardedRules } from '../../rules/guard/guarded-rules.ts'
import { planCall } from '../../rules/select/plan.ts'
import { problemLines } from '../../rules/file/problem-format.ts'
import type { RulesVersion } from '../../rules/file/rules-version.ts'
import type { ExplainRequest } from '../commands/explain.ts'
import { explainedExchange, type ExplainedExchange } from './explained-exchange.ts'
import { readRulesSource } from './rules-source.ts'
import { UsageError } from '../flags/usage-error.ts'

const FAILED = 1

/** The effect of the rules on one call, or on a request without one. */
interface Explained extends Pick<Explanation, 'rules'> {
  readonly call: Pick<Call, 'id' | 'method' | 'name'> | undefined
}

/** Prints the effect of the rules at a path on one request; returns the exit code. */
export async function explainCommand(
  asked: ExplainRequest,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const exchange = await explainedExchange(asked)
  const { version, files } = await readRulesSource(asked.file)
  if (version.kind === 'rejected') {
    for (const file of files) write(problemLines(file))
    return FAILED
  }
  const { disarmed, explained } = explainAll(asked, exchange, version)
  const { http } = exchange.facts
  if (asked.json) {
    // The query may hold secrets.
    const request = { method: http.method, path: http.path }
    write(`${JSON.stringify({ request, disarmed, explained }, null, 2)}\n`)
    return 0
  }
  const isRecorded = asked.subject.kind === 'recorded'
  for (const [index, { call, rules }] of explained.entries()) {
    if (index > 0) write('\n')
    const which = explained.length > 1 ? ` (${index + 1} of ${explained.length})` : ''
    const title = call === undefined ? `${http.method} ${http.path}, without a call` : titleOf(call)
    if (isRecorded) write(`${plain(title)}${which}\n\n`)
    write(explainText({ disarmed, rules }))
  }
  return 0
}

function titleOf({ id, method, name }: Pick<Call, 'id' | 'method' | 'name'>): string {
  return `${method}${name === undefined ? '' : ` ${name}`}, id ${JSON.stringify(id)}`
}

/** Evaluates the rules like a sidecar that has just read them. */
function explainAll(
  { limits, pod, self, neverArmed }: ExplainRequest,
  { facts: known, calls, unread }: ExplainedExchange,
  version: RulesVersion,
): { readonly disarmed: string | undefined; readonly explained: readonly Explained[] } {
  const now = Date.now()
  const clock = (): number => now
  const options = { limits, pod, self, neverArmed, guard: undefined, headerFaults: undefined }
  const { isActive, states } = createGuardedRules(options, { clock })
  isActive.take(version)
  const { ruleSet } = isActive
  const untouchable = states.deniesAny(calls) || (unread && states.deniesTools)
  const facts = { ...known, untouchable }
  try {
    if (calls.length === 0) {
      const { disarmed, rules } = explain(ruleSet, facts, now, states)
      return { disarmed, explained: [{ call: undefined, rules }] }
    }
    let disarmed: string | undefined
    const explained = calls.map((call) => {
      const { id, method, name } = call
      const said = explain(ruleSet, { ...facts, call }, now, states, calls.length > 1)
      // The rules keep the state that this call left for the next call of the batch.
      planCall(ruleSet, { ...facts, call }, states, clock)
      disarmed = said.disarmed
      return { call: { id, method, name }, rules: said.rules }
    })
    return { disarmed, explained }
  } catch (error) {
    // JSON can be deeper than its readers allow.
    if (!(error instanceof RangeError)) throw error
    throw new UsageError('BAD_VALUE', 'the call is too deep', 'nest its arguments less')
  } finally {
    isActive.close()
  }
}
