import { basename } from 'node:path'
import { quoted } from '../../base/text/foreign-text.ts'
import { MAX_ITEMS } from './document-bounds.ts'
import { type FileProblems, type Path, type Problem, wholeFile } from './problem.ts'
import { fieldOf } from './read-values.ts'
import type { RulesFile } from './schema.ts'
import type { YamlDocument } from './yaml-document.ts'

/** One of the files of a directory. */
export interface MergedFile {
  readonly name: string
  readonly file: RulesFile
  readonly document: YamlDocument
}

export type Merged = { readonly file: RulesFile } | { readonly problems: readonly FileProblems[] }

/** Keys that apply to all rules: two files could disagree. */
const ONCE = ['seed', 'enabled', 'maxActive'] as const

/** Merges rules files in order. There is at least one. */
export function mergeFiles(files: readonly MergedFile[]): Merged {
  const [first] = files
  if (first !== undefined && files.length === 1) return { file: first.file }
  const problems = files.map(({ name }) => ({ file: name, problems: [] as Problem[] }))
  const settings = onlyOnce(files, problems)
  namesOnce(files, problems)
  const rules = files.flatMap(({ file }) => file.rules)
  if (rules.length > MAX_ITEMS) {
    const message = `all files together have ${rules.length} rules; at most ${MAX_ITEMS} are allowed`
    problems.at(-1)?.problems.push(wholeFile('too_many', message))
  }
  const invalid = problems.filter((each) => each.problems.length > 0)
  return invalid.length > 0
    ? { problems: invalid }
    : { file: { ...first!.file, ...settings, rules } }
}

type Found = readonly { readonly problems: Problem[] }[]

/** Returns the settings of the files. */
function onlyOnce(files: readonly MergedFile[], problems: Found): Partial<RulesFile> {
  let settings: Partial<RulesFile> = {}
  for (const key of ONCE) {
    let before: string | undefined
    for (const [index, { name, file, document }] of files.entries()) {
      if (fieldOf(document.value, key) === undefined) continue
      if (before === undefined) {
        before = name
        settings = { ...settings, [key]: file[key] }
        continue
      }
      problems[index]!.problems.push({
        code: 'conflict',
        message: `${quoted(basename(before))} also sets it; only one file of a directory may set this key`,
        path: key,
        ...document.position([key], true),
      })
    }
  }
  return settings
}

function namesOnce(files: readonly MergedFile[], problems: Found): void {
  const names = new Map<string, { file: string; index: number }>()
  for (const [at, { name: file, file: read, document }] of files.entries()) {
    for (const [index, { name }] of read.rules.entries()) {
      const before = names.get(name)
      names.set(name, before ?? { file, index })
      if (before === undefined) continue
      const path: Path = ['rules', index, 'name']
      problems[at]!.problems.push({
        code: 'duplicate_name',
        message: `duplicate name ${quoted(name)} (first in rules[${before.index}] of ${quoted(basename(before.file))})`,
        path: `rules[${index}].name`,
        found: name,
        ...document.position(path),
      })
    }
  }
}
