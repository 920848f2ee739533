import { defineCommand } from '../flags/command.ts'
import { missing, UsageError } from '../flags/usage-error.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { completionScript, type Shell, SHELLS } from '../completion/shells.ts'

const FIX = `use one of ${SHELLS.join(', ')}`

export const COMPLETION = defineCommand({
  name: 'completion',
  examples: [
    'completion bash > ~/.local/share/bash-completion/completions/squall',
    'completion fish > ~/.config/fish/completions/squall.fish',
  ],
  page: 'docs/reference/commands.md',
  description: 'print a script that completes commands and options in bash, zsh or fish',
  operands: { form: '[shell]', most: 1 },
  flags: [],
  fromEnvironment: false,
  parse: (_raw, _env, [shell]) => parseShell(shell),
  start: async (shell) => {
    const { COMMANDS } = await import('./index.ts')
    process.stdout.write(completionScript(shell, COMMANDS))
    return 0
  },
})

function parseShell(text: string | undefined): Shell {
  const shell = SHELLS.find((name) => name === text)
  if (shell !== undefined) return shell
  if (text === undefined) throw missing('no shell', FIX)
  throw new UsageError('BAD_VALUE', `${quoted(text)} is not a shell that Squall knows`, FIX)
}
