import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Dirent } from 'node:fs'
import { isRecord } from '../../base/values.ts'
import { fileProblem, type FileProblems } from '../../rules/file/problem.ts'
import {
  isRulesFileName,
  MAX_FILES,
  readRules,
  type RulesText,
  unreadable,
} from '../../rules/file/rules-file.ts'
import { isForeignRules } from '../../rules/import/import.ts'
import { readYaml } from '../../rules/file/yaml-document.ts'

/** A file or directory that is not checked. */
export interface Skipped {
  readonly file: string
  readonly reason: string
}

const MAX_DEPTH = 5
/** Limits the names that are looked at. */
const MAX_ENTRIES = 10_000
const MAX_BYTES = 16 * 1024 * 1024
const RULES_KEYS = ['rules', 'seed', 'maxActive', 'appliedAt', 'until']
const PLAN_KEYS = ['target', 'sidecar', 'steadyState']
const SCHEMA_LINE = /^# yaml-language-server: .*rules\.schema\.json/m
/** Recognizes rules files among texts that cannot be read. */
const RULES_LINE = /^(?:rules:|[ {]{0,2}"rules":)/m

/** Reads the rules files in a directory and those below it, each by itself. */
export async function readRulesDirectory(path: string) {
  const skipped: Skipped[] = []
  const problems: FileProblems[] = []
  const texts: RulesText[] = []
  let left = MAX_BYTES
  for (const file of await filesBelow(path, skipped, problems)) {
    const found = await readRules(file)
    if (found.kind === 'absent') skipped.push({ file, reason: found.reason })
    else problems.push(...found.problems)
    for (const text of found.kind === 'found' ? found.texts : []) {
      left -= text.bytes.length
      const reason = whyNoRules(text)
      if (reason === undefined) texts.push(text)
      else skipped.push({ file, reason })
    }
    if (texts.length <= MAX_FILES && left >= 0) continue
    problems.push(tooMuch(path, left < 0 ? '16 MiB of YAML and JSON' : `${MAX_FILES} rules files`))
    break
  }
  return { texts, skipped, problems }
}

/**
 * Returns the files that may have rules, in the order of their names. Links to directories are not
 * followed.
 */
async function filesBelow(
  root: string,
  skipped: Skipped[],
  problems: FileProblems[],
): Promise<readonly string[]> {
  const files: string[] = []
  let entries = 0
  const visit = async (directory: string, depth: number): Promise<void> => {
    const below: string[] = []
    for await (const entry of await opendir(directory)) {
      if (++entries > MAX_ENTRIES) return
      const file = join(directory, entry.name)
      if (entry.isDirectory() && !entry.name.startsWith('.')) below.push(file)
      else if (isRulesFileName(entry.name) && !(await leadsToDirectory(entry, file))) {
        files.push(file)
      }
    }
    for (const each of below.sort()) {
      if (depth === MAX_DEPTH) skipped.push({ file: each, reason: 'nested too deeply' })
      else await visit(each, depth + 1).catch((error: unknown) => skip(each, error))
    }
  }
  const skip = (file: string, error: unknown): void => {
    problems.push(unreadable(file, error))
  }
  await visit(root, 1).catch((error: unknown) => skip(root, error))
  if (entries > MAX_ENTRIES) problems.push(tooMuch(root, `${MAX_ENTRIES} entries`))
  return files.sort()
}

async function leadsToDirectory(entry: Dirent, file: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return false
  return stat(file).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

/**
 * Returns why a file does not count as a rules file. With any key of rules, it is a rules file with
 * errors.
 */
function whyNoRules({ bytes }: RulesText): string | undefined {
  const text = Buffer.from(bytes).toString('utf8')
  if (SCHEMA_LINE.test(text)) return undefined
  const { value } = readYaml(text)
  if (value === undefined) {
    return RULES_LINE.test(text)
      ? undefined
      : 'not a rules file: not valid YAML or JSON, and no key `rules`'
  }
  if (value === null) return 'the file is empty'
  if (isForeignRules(value)) return undefined
  // A list of rules whose `rules:` is missing.
  if (Array.isArray(value)) {
    const isRules = value.some((each) => isRecord(each) && Object.hasOwn(each, 'faults'))
    return isRules ? undefined : 'not a rules file: it is a list'
  }
  if (!isRecord(value)) return 'not a rules file: it is plain text'
  const has = (key: string): boolean => Object.hasOwn(value, key)
  if (has('apiVersion') && has('kind')) return 'not a rules file: it is a Kubernetes manifest'
  if (PLAN_KEYS.some(has)) return 'an experiment plan; check it with squall experiment validate'
  return RULES_KEYS.some(has) ? undefined : 'not a rules file: the key `rules` is missing'
}

function tooMuch(file: string, limit: string): FileProblems {
  return fileProblem(
    file,
    'too_many',
    `contains more than ${limit}; validate its subdirectories one at a time`,
  )
}
