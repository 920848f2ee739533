import { asStarted } from '../base/started-as.ts'
import { oneLine } from '../base/text/foreign-text.ts'
import { UsageError } from './flags/usage-error.ts'
import { readVersion } from './version.ts'
import type { Command } from './flags/command.ts'

/** Commands that pods, probes and hooks run often: each loads no other command. */
const ALONE: Readonly<Record<string, () => Promise<readonly Command[]>>> = {
  run: async () => [(await import('./commands/run.ts')).RUN],
  stdio: async () => [(await import('./commands/stdio.ts')).STDIO],
  'wait-ready': async () => [(await import('./commands/wait-ready.ts')).WAIT_READY],
  'pre-stop': async () => [(await import('./commands/pre-stop.ts')).PRE_STOP],
  redirect: async () => [(await import('./commands/redirect.ts')).REDIRECT],
  attached: async () => [(await import('./commands/attached.ts')).ATTACHED],
}

async function commandsFor([first = '']: readonly string[]): Promise<readonly Command[]> {
  if (Object.hasOwn(ALONE, first)) return ALONE[first]!()
  return (await import('./commands/index.ts')).COMMANDS
}

const FAILED = 1
const INVALID_USAGE = 2

/** Returns the text of the options of the program itself, for which no command is loaded. */
async function printed([option, ...others]: readonly string[]): Promise<string | undefined> {
  if (others.length > 0) return undefined
  if (option === '--version' || option === '-v') return `${readVersion()}\n`
  if (option !== '--help' && option !== '-h') return undefined
  const { PROGRAM_HELP } = await import('./commands/program-help.ts')
  const { endOfHelp, PROGRAM } = await import('./commands/families.ts')
  return `${PROGRAM_HELP}${endOfHelp(PROGRAM)}\n`
}

/** Runs the program; returns its exit code. */
async function main(): Promise<number> {
  const args = process.argv.slice(2)
  const text = await printed(args)
  if (text !== undefined) {
    process.stdout.write(text)
    return 0
  }
  const { parseAmong } = await import('./flags/command-parser.ts')
  const invocation = parseAmong(await commandsFor(args), args, process.env, readVersion())
  if (invocation.kind === 'print') {
    process.stdout.write(invocation.text)
    return 0
  }
  return invocation.start()
}

/** Returns a message whose fix can be copied into the same shell. */
function withFix(message: string): string {
  const fix = message.lastIndexOf('; ')
  return fix < 0 ? message : `${message.slice(0, fix)}${asStarted(message.slice(fix))}`
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader closed the pipe, as `head` does.
  if (error.code !== 'EPIPE') throw error
})

main().then(
  // Exiting at once would lose text that is still being written to a pipe.
  (code) => process.stdout.write('', () => process.exit(code)),
  (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(`squall: ${oneLine(withFix(reason), 2_000)}\n`)
    process.exit(error instanceof UsageError ? INVALID_USAGE : FAILED)
  },
)
