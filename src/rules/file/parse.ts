import { sha256Of } from '../../base/digest.ts'
import { plain } from '../../base/text/foreign-text.ts'
import { faultUses, fileFindings } from './file-findings.ts'
import { type Problem, wholeFile } from './problem.ts'
import { deepFreeze } from '../../base/values.ts'
import { fieldOf, readValues } from './read-values.ts'
import { rulesJsonSchema, type Rule, type RulesFile } from './schema.ts'
import * as check from '#checks/rules'
import { fileSchema, schemaFindings } from './schema-findings.ts'
import { located, readYaml, type YamlDocument } from './yaml-document.ts'

/** The result of parsing the text of a rules file. */
export type ParsedRules =
  | { readonly ok: true; readonly file: RulesFile; readonly digest: string }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly digest: string }

/** The largest file: a ConfigMap cannot hold more. */
export const MAX_FILE_BYTES = 1024 * 1024
/** Limits the reported problems. */
export const MAX_PROBLEMS = 200
/** One object with hundreds of errors can go beyond the limit. */
const MAX_FOUND = 5 * MAX_PROBLEMS

const RULES_LIST =
  'write the list of rules under `rules:`, such as `rules: [{ name: slow-search, faults: [delay: { fixed: 2s }] }]`'

const schema = rulesJsonSchema()
const checked = fileSchema(schema, check, check)

/** The result of a rules file, with its document for positions. */
export interface ReadRules {
  readonly parsed: ParsedRules
  /** Undefined when the text could not be read at all. */
  readonly document: YamlDocument | undefined
}

/** Reads a rules file in YAML or JSON, with all its errors at once. Never throws. */
export function parseRules(input: string | Uint8Array): ParsedRules {
  return parseWithPositions(input).parsed
}

/** Reads a rules file, and returns its document for further checks. */
export function parseWithPositions(input: string | Uint8Array): ReadRules {
  const bytes = typeof input === 'string' ? Buffer.from(input, 'utf8') : input
  const digest = sha256Of(bytes)
  let document: YamlDocument | undefined
  const rejected = (...problems: readonly Problem[]): ReadRules => ({
    parsed: deepFreeze({ ok: false, problems: problems.slice(0, MAX_PROBLEMS), digest }),
    document,
  })
  try {
    if (bytes.length > MAX_FILE_BYTES) {
      return rejected(
        wholeFile('too_large', `a rules file must have at most 1 MiB; got ${bytes.length} bytes`),
      )
    }
    const text = typeof input === 'string' ? input : decode(input)
    if (text === undefined)
      return rejected(wholeFile('not_utf8', 'a rules file must be text in UTF-8'))
    document = readYaml(text)
    const problems = [...document.problems, ...problemsIn(document)]
    if (problems.length > 0) return rejected(...inOrder(problems))
    const file = deepFreeze(readFile(document.value))
    return { parsed: { ok: true, file, digest }, document }
  } catch (error) {
    // After any failure, the active rules stay.
    const reason = error instanceof Error ? error.message : String(error)
    return rejected(wholeFile('unreadable', `cannot be read: ${plain(reason)}`))
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function problemsIn(document: YamlDocument): readonly Problem[] {
  const { value } = document
  // Undefined is unreadable; null is an empty document, without rules.
  if (value === undefined || value === null) return []
  const wrong = schemaFindings(value, checked, MAX_PROBLEMS).map((finding) =>
    finding.path.length === 0 && finding.code === 'wrong_type'
      ? { ...finding, hint: RULES_LIST }
      : finding,
  )
  const findings = [...wrong, ...fileFindings(value, wrong, schema, MAX_PROBLEMS)]
  return findings.slice(0, MAX_FOUND).map((finding) => located(finding, document))
}

function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return [...problems].sort((a, b) => a.line - b.line || a.column - b.column)
}

function readFile(value: unknown): RulesFile {
  const rules = fieldOf(value, 'rules') ?? []
  const file = readValues(schema, value ?? {}, schema.definitions) as RulesFile
  const written = rules as readonly { readonly faults: readonly unknown[] }[]
  const read = (rule: Rule, index: number): Rule => ({
    ...rule,
    faults: faultUses(written[index]!.faults) as Rule['faults'],
  })
  return timed({ ...file, rules: (file.rules ?? []).map(read) })
}

/** Copies the times of the file into each rule, so that rules of several files can be merged. */
function timed({ appliedAt, until, ...file }: RulesFile): RulesFile {
  if (appliedAt === undefined && until === undefined) return file
  const rules = file.rules.map((rule) => {
    const at = rule.appliedAt ?? appliedAt
    const ends = Math.min(rule.until ?? Infinity, until ?? Infinity)
    return {
      ...rule,
      ...(at !== undefined && { appliedAt: at }),
      ...(ends !== Infinity && { until: ends }),
    }
  })
  return { ...file, rules }
}
