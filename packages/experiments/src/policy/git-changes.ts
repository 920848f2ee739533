import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isParent, isProtected, type Protected } from './protected-files.ts'

const OPTIONS = {
  timeout: 10_000,
  maxBuffer: 64 * 1024 * 1024,
  env: { ...process.env, LC_ALL: 'C' },
}
const MOST_COMMANDS = 8
const OUTSIDE = /^(?:fatal|warning): not a git repository/im

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
        // Changes nothing outside a repository. A list that failed may have any file.
        ({ stderr }) => (OUTSIDE.test(String(stderr)) ? [] : [files.policy]),
      )
      const own = { ...files, directory: cwd }
      const found = names.find((name) => isProtected(name, own) || isParent(name, own))
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** Returns the commands of git that list what a command of git would change. */
function listsOf(line: string): readonly (readonly string[])[] {
  const [, command, rest = ''] = /^([\w-]+)(.*)/.exec(line)!
  const isAll = / (?:-[^-\s]*[xXa]|--all)/.test(rest)
  const others = ['ls-files', '-oz', '--directory', ...(isAll ? [] : ['--exclude-standard'])]
  // Removes only what is below its directory, unless a path leads out of it.
  if (command === 'clean') return [/\.\.| [:~/]/.test(rest) ? [...others, ':/'] : others]
  const operands = rest.replaceAll(/ (?:-[^-\s]*[bBcC]|--(?:c|force-c|orph)\w*) \S+/g, '')
  const to = command === 'stash' ? 'HEAD' : (/ ([^-\s]\S*|-(?= |$))/.exec(operands)?.[1] ?? 'HEAD')
  const options = ['-c', 'core.fsmonitor=false', '-c', 'diff.relative=false']
  const from = command === 'checkout-index' ? [] : [to]
  const changed = [...options, 'diff', '--name-only', '-z', ...from, '--']
  const hasOthers = isAll || / (?:-[^-\s]*u|--incl)/.test(rest)
  return command === 'stash' && hasOthers ? [changed, [...others, ':/']] : [changed]
}
