import { quoted } from '../../base/text/foreign-text.ts'
import { type Command, defineCommand } from '../flags/command.ts'
import { missing, UsageError } from '../../base/flags/usage-error.ts'

/** The shells for which there is a completion script. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

const FIX = `use one of ${SHELLS.join(', ')}`

/** Declares the command that prints completion scripts for commands. */
export function completionCommand(commands: () => Promise<readonly Command[]>): Command {
  return defineCommand({
    name: 'completion',
    examples: [
      'completion bash > ~/.local/share/bash-completion/completions/squall',
      'completion fish > ~/.config/fish/completions/squall.fish',
    ],
    page: 'docs/reference/commands.md',
    description: 'print a completion script for bash, zsh or fish',
    note: `
Also completes npx mcp-squall. In a clone, load the script with source <(npx mcp-squall completion bash) or zsh,
or with npx mcp-squall completion fish | source`,
    operands: { form: '<shell>', most: 1 },
    flags: {},
    fromEnvironment: false,
    parse: (_flags, { operands: [shell] }) => parseShell(shell),
    start: async (shell) => {
      process.stdout.write(completionScript(shell, await commands()))
      return 0
    },
  })
}

function parseShell(text: string | undefined): Shell {
  const shell = SHELLS.find((name) => name === text)
  if (shell !== undefined) return shell
  if (text === undefined) throw missing('no shell', FIX)
  throw new UsageError('INVALID_VALUE', `unsupported shell ${quoted(text)}`, FIX)
}

/** Returns the completion script of a shell for these commands. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  if (shell === 'fish') return fishScript(commands)
  if (shell === 'bash') return bashScript(commands, 'complete -p npx >/dev/null 2>&1')
  // In zsh `complete -p npx` succeeds without a completion.
  const zsh = bashScript(commands, '[ -n "${_comps[npx]}" ]')
  return `autoload -U +X bashcompinit && bashcompinit\n${zsh}`
}

/** Returns the words that may follow those of a path, in order. */
function below(path: string, commands: readonly Command[]): readonly string[] {
  const start = path === '' ? '' : `${path} `
  const names = commands.map(({ name }) => name).filter((name) => name.startsWith(start))
  return [...new Set(names.map((name) => name.slice(start.length).split(' ')[0]!))]
}

/** Returns the first words of commands that have others below, such as `mcp` and `mcp policy`. */
function parentsOf(commands: readonly Command[]): readonly string[] {
  const starts = commands.flatMap(({ name }) => {
    const words = name.split(' ')
    return words.slice(1).map((_, i) => words.slice(0, i + 1).join(' '))
  })
  return [...new Set(starts)]
}

/** Offers commands and options; where it offers nothing, bash completes names of files. */
function bashScript(commands: readonly Command[], npxHasCompletion: string): string {
  const cases = commands
    .toSorted((a, b) => b.name.split(' ').length - a.name.split(' ').length)
    .map(({ name, flags }) => {
      const words = [...flags.map((flag) => `--${flag.name}`), '--help'].join(' ')
      return `      ' ${name} '*) words='${words}' ;;\n`
    })
  const parents = parentsOf(commands).map(
    (path) => `      ' ${path} ') words='${below(path, commands).join(' ')}' ;;\n`,
  )
  return `_squall() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words=''
  local line=" \${COMP_WORDS[*]:1:$((COMP_CWORD - 1))} "
  case "$cur" in
    -*) case "$line" in
      '  ') words='--help --version' ;;
${cases.join('')}    esac ;;
    *) case "$line" in
      '  ') words='${[...below('', commands), 'help', 'version'].join(' ')}' ;;
${parents.join('')}    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _squall squall mcp-squall
${NPX_IN_BASH}${npxHasCompletion} || complete -o default -F _squall_npx npx
`
}

/** Completes `npx mcp-squall` too. */
const NPX_IN_BASH = `_squall_npx() {
  COMPREPLY=()
  case "\${COMP_WORDS[1]}" in squall|mcp-squall) ;; *) return 0 ;; esac
  [ "$COMP_CWORD" -gt 1 ] || return 0
  COMP_WORDS=("\${COMP_WORDS[@]:1}")
  COMP_CWORD=$((COMP_CWORD - 1))
  _squall
}
`
/** Completes the part of the line behind npx. */
const NPX_IN_FISH =
  'complete -c npx -n \'test (count (commandline -opc)) -gt 1; and string match -qr "^(mcp-)?squall\\$" -- (commandline -opc)[2]\' -f ' +
  `-a '(complete -C (commandline -cp | string replace -r "^\\s*npx\\s+(mcp-)?" ""))'\n`

function fishScript(commands: readonly Command[]): string {
  const firsts = below('', commands)
  const parents = parentsOf(commands)
  const textOf = (path: string): string =>
    commands.find(({ name }) => name === path)?.description ?? below(path, commands).join(' ')
  const lines = firsts.map(
    (word) => `-n __fish_use_subcommand -f -a ${word} -d ${quotedForFish(textOf(word))}`,
  )
  /** Returns the test for the words of a path, without words that may follow it. */
  const at = (path: string): string => {
    const words = path.split(' ')
    // The word may be that of a command below another first word.
    const others =
      words.length === 1 ? parents.filter((each) => each !== path && !each.includes(' ')) : []
    const not = [...others, ...below(path, commands)].join(' ')
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ')
    return `-n '${seen}${not === '' ? '' : `; and not __fish_seen_subcommand_from ${not}`}'`
  }
  for (const path of parents) {
    for (const word of below(path, commands)) {
      lines.push(`${at(path)} -f -a ${word} -d ${quotedForFish(textOf(`${path} ${word}`))}`)
    }
  }
  for (const { name: path, flags } of commands) {
    for (const { name, value, help } of flags) {
      const kind = value === undefined ? '' : ' -r'
      lines.push(`${at(path)} -l ${name}${kind} -d ${quotedForFish(help)}`)
    }
  }
  return `${lines.map((line) => `complete -c squall ${line}\n`).join('')}${NPX_IN_FISH}`
}

function quotedForFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
