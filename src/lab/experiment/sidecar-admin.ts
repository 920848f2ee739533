import { lineOf } from '../../base/text/foreign-text.ts'
import { type Fields, fieldsOf, listOf, numberOf } from '../../base/values.ts'
import { askAdmin, type SidecarAdmin } from '../../admin/ask-admin.ts'

/** What a sidecar says of itself, as far as an experiment wants to know. */
export interface SidecarState {
  /** Undefined when it was started without one. */
  readonly environment: string | undefined
  readonly armed: boolean
  readonly reasons: readonly { readonly by: string; readonly reason: string }[]
  readonly shadow: boolean
  /** Of the rules in force; undefined when there never were any. */
  readonly digest: string | undefined
  /** What it found last, and what was wrong with it. */
  readonly last:
    { readonly digest: string; readonly result: string; readonly problem: string } | undefined
  /** By how much its clock is ahead, in milliseconds; 0 within what its answers can tell. */
  readonly aheadMs: number
}

/** What became of the calls of one rule. */
export interface SidecarRule {
  readonly name: string
  readonly phase: string
  readonly shadow: boolean
  readonly builtIn: boolean
  readonly matched: number
  readonly drawn: number
  readonly applied: number
}

/** The time in an answer's head has whole seconds. */
const CLOCK_BLUR_MS = 2000

/** Asks for the state. Throws an `AdminError`. */
export async function askState(admin: SidecarAdmin, signal?: AbortSignal): Promise<SidecarState> {
  const { body, date } = await askAdmin(admin, '/api/state', 'experiment', signal)
  const rules = fieldsOf(body['rules'])
  const last = fieldsOf(body['lastReload'])
  const lastDigest = lineOf(last['digest'])
  const [problem] = listOf(last['problems'])
  const ahead = date === undefined ? 0 : date - Date.now()
  return {
    environment: lineOf(body['environment']),
    armed: body['armed'] === true,
    reasons: listOf(body['reasons']).map(({ by, reason }) => ({
      by: lineOf(by) ?? '?',
      reason: lineOf(reason) ?? '',
    })),
    shadow: body['shadow'] === true,
    digest: lineOf(rules['digest']),
    last:
      lastDigest === undefined
        ? undefined
        : {
            digest: lastDigest,
            result: lineOf(last['result']) ?? '?',
            problem: problemText(problem),
          },
    aheadMs: Math.abs(ahead) <= CLOCK_BLUR_MS ? 0 : ahead,
  }
}

/** Asks for the rules in force. Throws an `AdminError`. */
export async function askRules(
  admin: SidecarAdmin,
  signal?: AbortSignal,
): Promise<readonly SidecarRule[]> {
  const { body } = await askAdmin(admin, '/api/rules', 'experiment', signal)
  return listOf(body['rules']).map((rule) => {
    const counts = fieldsOf(rule['counts'])
    return {
      name: lineOf(rule['name']) ?? '?',
      phase: lineOf(rule['phase']) ?? '?',
      shadow: rule['shadow'] === true,
      builtIn: rule['builtIn'] === true,
      matched: numberOf(counts['matched']),
      drawn: numberOf(counts['drawn']),
      applied: numberOf(counts['applied']),
    }
  })
}

function problemText(problem: Fields | undefined): string {
  if (problem === undefined) return ''
  return [lineOf(problem['path']), lineOf(problem['message'])].filter(Boolean).join(': ')
}
