import type { FileProblems } from './problem-format.ts'
import type { RulesFile } from './schema.ts'

/** One state of the watched rules, as it was found. */
export type RulesVersion =
  | {
      readonly kind: 'rules'
      /** The digest of the bytes of all files. */
      readonly digest: string
      readonly file: RulesFile
      /** Each rule as written, on one line, in the order of the rules. */
      readonly asWritten?: readonly string[] | undefined
      /** A line for each field that differs, where a file is one of another tool. */
      readonly imported?: readonly string[] | undefined
    }
  | {
      readonly kind: 'rejected'
      readonly digest: string
      readonly problems: readonly FileProblems[]
      /** The problems as lines for people, each with its place in the text. */
      readonly frames?: readonly string[]
    }
  /** No file, or an empty one: no faults. */
  | { readonly kind: 'absent'; readonly digest: string; readonly reason: string }

/** Returns true when any rule of a version could ever act. */
export function canAct(version: RulesVersion): boolean {
  if (version.kind !== 'rules' || !version.file.enabled) return false
  return version.file.rules.some(({ enabled }) => enabled)
}
