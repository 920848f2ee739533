import { createHash } from 'node:crypto'
import { quoted } from '../../base/text/foreign-text.ts'
import { compileRules } from '../../rules/match/compile.ts'
import { MAX_FILE_BYTES } from '../../rules/file/parse.ts'
import type { FileProblems } from '../../rules/file/problem-format.ts'
import { parseFound } from '../../rules/file/rules-parser.ts'
import { canAct } from '../../rules/file/rules-version.ts'
import { readBounded } from '../../base/read-bounded.ts'
import { UsageError } from '../flags/usage-error.ts'

/** The text of a rules file with what is wrong with it, which may be nothing. */
export interface CheckedRules {
  readonly text: string
  readonly problems: readonly FileProblems[]
  /** True when any of its rules could ever act. */
  readonly canAct: boolean
}

/** Reads a rules file once, `-` being standard input, and checks it as `squall validate` does. */
export async function readCheckedRules(file: string): Promise<CheckedRules> {
  let bytes: Uint8Array
  try {
    bytes = await readBounded(file, MAX_FILE_BYTES)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(
      'BAD_FILE',
      `${quoted(file)} cannot be read (${code ?? message})`,
      'check the path and its permissions',
    )
  }
  const digest = createHash('sha256').update(bytes).digest('hex')
  const version = parseFound({
    kind: 'found',
    digest,
    isDirectory: false,
    texts: [{ file, bytes }],
    problems: [],
    writtenAt: 0,
  })
  const text = Buffer.from(bytes).toString('utf8')
  if (version.kind === 'rejected') return { text, problems: version.problems, canAct: false }
  if (version.kind === 'rules') {
    try {
      compileRules(version.file)
    } catch (error) {
      const message = (error as Error).message
      const problem = { code: 'unreadable', message, path: '', line: 1, column: 1 } as const
      return { text, problems: [{ file, problems: [problem] }], canAct: false }
    }
  }
  return { text, problems: [], canAct: canAct(version) }
}
