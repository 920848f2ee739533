import { createHash } from 'node:crypto'
import { parseWithPositions } from '../../rules/file/parse.ts'
import type { Problem } from '../../rules/file/problem.ts'

/** A rule as written in the file. */
export type WrittenRule = Readonly<Record<string, unknown>> & { readonly name: string }

/** Checked rules as written. */
export interface RulesSource {
  readonly digest: string
  /** The text, so that a run can be repeated after the file has changed. */
  readonly text: string
  readonly seed: number | undefined
  readonly maxActive: number | undefined
  readonly enabled: boolean
  readonly rules: readonly WrittenRule[]
}

export function readRulesText(
  text: string,
): RulesSource | { readonly problems: readonly Problem[] } {
  const { parsed, document } = parseWithPositions(text)
  if (!parsed.ok) return { problems: parsed.problems }
  const written = (document?.value ?? {}) as Readonly<Record<string, unknown>>
  return {
    digest: createHash('sha256').update(text).digest('hex'),
    text,
    seed: numberIn(written, 'seed'),
    maxActive: numberIn(written, 'maxActive'),
    enabled: parsed.file.enabled,
    rules: (written['rules'] ?? []) as readonly WrittenRule[],
  }
}

/** Converts the inline rules of a plan, which were checked with the plan. */
export function inlineRules(rules: readonly WrittenRule[]): RulesSource {
  const text = `${JSON.stringify({ version: 1, rules }, null, 2)}\n`
  return {
    digest: createHash('sha256').update(text).digest('hex'),
    text,
    seed: undefined,
    maxActive: undefined,
    enabled: true,
    rules,
  }
}

function numberIn(value: Readonly<Record<string, unknown>>, key: string): number | undefined {
  const found = value[key]
  return typeof found === 'number' ? found : undefined
}
