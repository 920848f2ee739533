import type { CommanderError } from 'commander'
import { quoted } from '../../base/text/foreign-text.ts'
import { UsageError } from './usage-error.ts'

/** The parser's complaint as one line that says how to fix it. */
export function commandLineError(error: CommanderError, command: string): UsageError {
  const help = helpOf(command)
  const named = /'([^]*)'/.exec(withoutSuggestion(error.message))?.[1] ?? ''
  const meant = suggestion(error.message)
  // Without a value written behind it, which may be a secret.
  const flag = named.split('=', 1)[0] ?? ''
  switch (error.code) {
    case 'commander.unknownOption':
      return new UsageError('UNKNOWN_OPTION', `unknown option ${quoted(flag)}`, meant ?? help)
    case 'commander.unknownCommand':
      return new UsageError('UNKNOWN_COMMAND', `unknown command ${quoted(named)}`, meant ?? help)
    case 'commander.optionMissingArgument': {
      const name = /--[a-z-]+/.exec(named)?.[0] ?? named
      return new UsageError('MISSING_VALUE', `${name} needs a value`, help)
    }
    // Nothing to do was named: the parser would print its help as an error.
    case 'commander.help':
      return command === 'run'
        ? new UsageError('NO_COMMAND', 'no command', 'use squall run, or see squall --help')
        : new UsageError('NO_COMMAND', `squall ${command}: no command`, help)
    default:
      return new UsageError('UNEXPECTED_ARGUMENT', withoutSuggestion(error.message), help)
  }
}

/** The complaint about a word that belongs to no option. */
export function unexpectedArgument(text: string, command: string): UsageError {
  const wrong = `unexpected argument ${quoted(text)}`
  return new UsageError('UNEXPECTED_ARGUMENT', wrong, helpOf(command))
}

function helpOf(command: string): string {
  return `see squall ${command} --help`
}

function withoutSuggestion(message: string): string {
  const at = message.lastIndexOf('\n(Did you mean ')
  return (at === -1 ? message : message.slice(0, at)).replace(/^error: /, '')
}

function suggestion(message: string): string | undefined {
  const match = /\n\(Did you mean (?:one of )?([a-z, -]+)\?\)$/.exec(message)
  return match?.[1] === undefined ? undefined : `did you mean ${match[1].split(', ')[0]}?`
}
