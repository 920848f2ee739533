import { asInvoked, plain } from '#base'

/** The result of one check. */
export interface Check {
  readonly check: string
  readonly result: 'passed' | 'failed' | 'skipped'
  /** A short description of the state. */
  readonly found: string
  /** The next step. */
  readonly fix?: string
  /** Lines for people in the place of `found`. */
  readonly lines?: readonly string[]
}

/** Checks with a common subject. */
export interface CheckGroup {
  readonly group: 'server' | 'rules' | 'sidecar' | 'cluster' | 'namespace'
  readonly checks: readonly Check[]
}

const SIGNS = { passed: '√', failed: '×', skipped: '‼' } as const

export function passed(check: string, found: string): Check {
  return { check, result: 'passed', found }
}

export function failed(check: string, found: string, fix: string): Check {
  return { check, result: 'failed', found, fix }
}

export function skipped(check: string, found: string, fix: string): Check {
  return { check, result: 'skipped', found, fix }
}

/** Returns a check by its problems: passed where there are none. */
export function byProblems(
  check: string,
  good: string,
  problems: readonly string[],
  fix: string,
): Check {
  return problems.length === 0 ? passed(check, good) : failed(check, problems.join('; '), fix)
}

/** Formats checks for people, as sections with a heading. */
export function checksText(groups: readonly CheckGroup[]): string {
  const sections = groups.map(({ group, checks }) => {
    const lines = checks.map(({ check, result, found, fix, lines: shown }) => {
      const below = shown?.map((line) => `\n    ${plain(line)}`).join('')
      const next = fix === undefined ? '' : `\n    ${plain(asInvoked(fix))}`
      return `${SIGNS[result]} ${check}:${below ?? ` ${plain(found)}`}${next}\n`
    })
    return `${group}\n${'-'.repeat(group.length)}\n${lines.join('')}\n`
  })
  const all = groups.flatMap(({ checks }) => checks)
  const count = all.filter(({ result }) => result === 'failed').length
  const end = count === 0 ? 'No check failed.' : `${count} of ${all.length} checks failed.`
  return `${sections.join('')}${end}\n`
}

/** Formats checks as one JSON document. */
export function checksJson(groups: readonly CheckGroup[], ok: boolean): string {
  const checks = groups.flatMap(({ group, checks: each }) =>
    each.map((check) => ({ group, ...check, lines: undefined })),
  )
  return `${JSON.stringify({ ok, checks })}\n`
}
