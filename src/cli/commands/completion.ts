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
    description: 'print a script that completes commands and options in bash, zsh or fish',
    note: `
Completes npx mcp-squall, too. In a clone, load the script in the shell: source <(npx mcp-squall completion bash),
also with zsh, or npx mcp-squall completion fish | source`,
    operands: { form: '[shell]', most: 1 },
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
  throw new UsageError('INVALID_VALUE', `${quoted(text)} is not a shell that Squall knows`, FIX)
}

/** Returns the completion script of a shell for these commands. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  if (shell === 'fish') return fishScript(commands)
  if (shell === 'bash') return bashScript(commands, 'complete -p npx >/dev/null 2>&1')
  // In zsh `complete -p npx` succeeds without a completion.
  const zsh = bashScript(commands, '[ -n "${_comps[npx]}" ]')
  return `autoload -U +X bashcompinit && bashcompinit\n${zsh}`
}

/** The words of a command's name: one, or two as in `report merge`. */
function wordsOf({ name }: Command): readonly [string, string?] {
  return name.split(' ') as [string, string?]
}

function firstWords(commands: readonly Command[]): readonly string[] {
  return [...new Set(commands.map((command) => wordsOf(command)[0]))]
}

function below(word: string, commands: readonly Command[]): readonly Command[] {
  return commands.filter((command) => {
    const [first, second] = wordsOf(command)
    return first === word && second !== undefined
  })
}

/** Offers commands and options; where it offers nothing, bash completes names of files. */
function bashScript(commands: readonly Command[], npxHasCompletion: string): string {
  const cases = commands
    .toSorted((a, b) => wordsOf(b).length - wordsOf(a).length)
    .map((command) => {
      const flags = [...command.flags.map(({ name }) => `--${name}`), '--help'].join(' ')
      const pattern = wordsOf(command).length === 2 ? `'${command.name}'` : `'${command.name} '*`
      return `        ${pattern}) words='${flags}' ;;\n`
    })
  const parents = firstWords(commands).flatMap((word) => {
    const names = below(word, commands).map((command) => wordsOf(command)[1])
    return names.length === 0 ? [] : [`      ${word}) words='${names.join(' ')}' ;;\n`]
  })
  return `_squall() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${[...firstWords(commands), 'help', 'version', '--help', '--version'].join(' ')}'
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "\${COMP_WORDS[1]}" in
${parents.join('')}    esac
  fi
  case "$cur" in
    -*)
      case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${cases.join('')}      esac
      ;;
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
  const lines: string[] = []
  for (const word of firstWords(commands)) {
    const inner = below(word, commands)
    const own = commands.find(({ name }) => name === word)
    const names = inner.map((command) => wordsOf(command)[1]).join(' ')
    const text = own?.description ?? names
    lines.push(
      `complete -c squall -n __fish_use_subcommand -f -a ${word} -d ${quotedForFish(text)}`,
    )
    for (const command of inner) {
      const when = `__fish_seen_subcommand_from ${word}; and not __fish_seen_subcommand_from ${names}`
      const second = wordsOf(command)[1]
      lines.push(
        `complete -c squall -n '${when}' -f -a ${second} -d ${quotedForFish(command.description)}`,
      )
    }
  }
  const parents = firstWords(commands).filter((word) => below(word, commands).length > 0)
  for (const command of commands) {
    const [first, second] = wordsOf(command)
    const when =
      second === undefined
        ? `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${parents.join(' ')}`
        : `__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}`
    for (const { name, value, help } of command.flags) {
      const kind = value === undefined ? '' : ' -r'
      lines.push(`complete -c squall -n '${when}' -l ${name}${kind} -d ${quotedForFish(help)}`)
    }
  }
  return `${lines.join('\n')}\n${NPX_IN_FISH}`
}

function quotedForFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
