import { sameJson } from '../../base/values.ts'
import { RulesTextEdit } from './edit-rules-text.ts'
import { parseRules } from './parse.ts'
import type { RulesFile } from './schema.ts'

export type Labels = Readonly<Record<string, string>>

/** The text of rules for certain pods, or the error. */
export type TargetedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly wrong: string; readonly fix: string }

/** Writes `match.podLabels` into every rule of a valid file, so that no other pod is armed. */
export function targetText(text: string, labels: Labels): TargetedText {
  const parsed = parseRules(text)
  if (!parsed.ok || parsed.file.rules.length === 0) return { ok: true, text }
  for (const { name, match } of parsed.file.rules) {
    for (const [key, value] of Object.entries(labels)) {
      const own = match?.podLabels?.[key]
      if (own === undefined || own === value) continue
      return {
        ok: false,
        wrong: `the rule ${name} selects pods with ${key}=${own}, but --selector requires ${key}=${value}: it would act nowhere`,
        fix: 'remove podLabels from the rule, or apply without -l',
      }
    }
  }
  const wanted = withLabels(parsed.file, labels)
  if (sameJson(parsed.file, wanted)) return { ok: true, text }
  const edited = edit(text, labels, wanted)
  if (edited !== undefined) return { ok: true, text: edited }
  return {
    ok: false,
    wrong: 'podLabels cannot be added to each rule, because of the way the rules are written',
    fix: `write match: { podLabels: ${JSON.stringify(labels)} } into each rule, and apply without -l`,
  }
}

function edit(text: string, labels: Labels, wanted: RulesFile): string | undefined {
  try {
    const edited = new RulesTextEdit(text)
    for (const rule of edited.rules) edited.add(rule, ['match', 'podLabels'], labels)
    return edited.finish((file) => sameJson(file, wanted))
  } catch {
    return undefined
  }
}

function withLabels(file: RulesFile, labels: Labels): RulesFile {
  const rules = file.rules.map((rule) => ({
    ...rule,
    match: { ...rule.match, podLabels: { ...rule.match?.podLabels, ...labels } },
  }))
  return { ...file, rules }
}
