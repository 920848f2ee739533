import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isProtected, type Protected } from './protected-files.ts'

const OPTIONS = { timeout: 10_000, maxBuffer: 64 * 1024 * 1024 }
const MOST_COMMANDS = 8
const TOO_LONG = 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'

/** Returns the first protected file that commands of git, each below its directory, would change. */
export async function changedByGit(
  commands: ReadonlySet<string>,
  files: Protected,
): Promise<string | undefined> {
  if (commands.size > MOST_COMMANDS) return files.policy
  for (const command of commands) {
    const [cwd = '', line = ''] = command.split('\n')
    for (const args of listsOf(line)) {
      const names = await promisify(execFile)('git', args, { cwd, ...OPTIONS }).then(
        ({ stdout }) => stdout.split('\0'),
        // Where git cannot list files, it changes none; too long a list may have any.
        ({ killed, code }) => (killed || code === TOO_LONG ? [files.policy] : []),
      )
      const found = names.find((name) => isProtected(name, { ...files, directory: cwd }))
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** Returns the commands of git that list what a command of git would change. */
function listsOf(line: string): readonly (readonly string[])[] {
  const [, command, rest = ''] = /^git (\w+)(.*)/.exec(line)!
  const isAll = / (?:-[^-\s]*[xXa]|--all)/.test(rest)
  const others = ['ls-files', '-oz', '--directory', ...(isAll ? [] : ['--exclude-standard'])]
  if (command === 'clean') return [others]
  const to = command === 'reset' ? (/ ([^-\s]\S*)/.exec(rest)?.[1] ?? 'HEAD') : 'HEAD'
  const changed = ['-c', 'core.fsmonitor=false', 'diff', '--name-only', '-z', to, '--']
  return isAll || / (?:-[^-\s]*u|--incl)/.test(rest) ? [changed, others] : [changed]
}
