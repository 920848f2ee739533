import { plain } from '../base/text/foreign-text.ts'
import { sentence } from '../rules/file/problem-format.ts'
import type { Reload, ActiveRules } from '../rules/watch/active-rules.ts'
import type { Reload as ShownReload, State } from './api.ts'
import { showArming } from './api-arming.ts'
import { isoTime } from './api-time.ts'

const MAX_PROBLEMS = 50
const MAX_NAMES = 20

/** The part of the state that does not come from the rules. */
export type ProcessState = Pick<
  State,
  'version' | 'environment' | 'namespace' | 'startedAt' | 'uptimeSeconds' | 'canChange'
>

/** The rules' part of the state, as JSON. */
export function showRulesState(rules: ActiveRules): Omit<State, keyof ProcessState | 'readiness'> {
  const { states, ruleSet, current, last } = rules
  return {
    ...showArming(rules),
    dryRun: states.dryRun,
    activeFaults: states.active.active,
    maxActiveFaults: Number.isFinite(states.active.limit) ? states.active.limit : null,
    rules: {
      count: ruleSet.rules.length,
      generation: current?.generation ?? 0,
      digest: current?.version.digest ?? null,
      since: isoTime(current?.at),
    },
    unanchored: states.unanchored.slice(0, MAX_NAMES),
    lastReload: last === undefined ? null : showReload(last),
  }
}

function showReload({ version, at }: Reload): ShownReload {
  const shown = { digest: version.digest, at: isoTime(at) }
  if (version.kind === 'rules') return { result: 'applied', ...shown }
  if (version.kind === 'absent') {
    return { result: 'absent', ...shown, reason: plain(version.reason) }
  }
  const all = version.problems.flatMap(({ file, problems }) =>
    problems.map((problem) => ({ file, problem })),
  )
  const problems = all.slice(0, MAX_PROBLEMS).map(({ file, problem }) => ({
    file: plain(file),
    line: problem.line,
    column: problem.column,
    code: problem.code,
    path: plain(problem.path),
    message: sentence({ ...problem, path: '' }),
  }))
  return { result: 'rejected', ...shown, problemCount: all.length, problems }
}
