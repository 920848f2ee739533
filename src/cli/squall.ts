import { fileURLToPath } from 'node:url'
import { UsageError } from '../base/flags/usage-error.ts'
import { endOfHelp, HOMES, type Home, PROGRAM } from './catalog.ts'
import { readVersion } from '../base/program.ts'
import { endingOf, output } from './ending.ts'
import type { Command } from './flags/command.ts'

/** Loads the commands of each part: nothing else loads a package. */
const LOAD: Readonly<Record<Home, () => Promise<readonly Command[]>>> = {
  sidecar: async () => [
    ...(await import('./commands/index.ts')).COMMANDS,
    (await import('./commands/completion.ts')).completionCommand(allCommands),
  ],
  kubernetes: async () =>
    (await import('../../packages/kubernetes/src/commands/index.ts')).COMMANDS,
  experiments: async () =>
    (await import('../../packages/experiments/src/commands/index.ts')).COMMANDS,
  tools: async () => (await import('../../packages/tools/src/commands/index.ts')).COMMANDS,
}

/** Commands that pods, probes and hooks run often: each loads no other command. */
const ALONE: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import('./commands/run.ts')).RUN,
  stdio: async () => (await import('./commands/stdio.ts')).STDIO,
  'wait-ready': async () => (await import('./commands/wait-ready.ts')).WAIT_READY,
  'pre-stop': async () => (await import('./commands/pre-stop.ts')).PRE_STOP,
  redirect: async () =>
    (await import('../../packages/kubernetes/src/commands/redirect.ts')).REDIRECT,
  attached: async () => {
    const { ATTACHED } = await import('../../packages/kubernetes/src/commands/attached.ts')
    const { command } = await import('./flags/command.ts')
    const load = () => import('../../packages/kubernetes/src/cli/attached.ts')
    return command(ATTACHED, load, 'attachedCommand')
  },
}

const THIS_FILE = fileURLToPath(import.meta.url)

/** Returns the commands of a part of the program; none where its files are not installed. */
async function commandsOf(home: Home): Promise<readonly Command[]> {
  try {
    return await LOAD[home]()
  } catch (error) {
    // With the file that asked for a missing one.
    const { code, requireStack = [] } = error as NodeJS.ErrnoException & {
      readonly requireStack?: readonly string[]
    }
    // A package that lacks something itself is broken, and not left out.
    if (code !== 'MODULE_NOT_FOUND' || requireStack[0] !== THIS_FILE) throw error
    return []
  }
}

/** Returns the commands that are installed, in the order in which the help lists them. */
export async function allCommands(): Promise<readonly Command[]> {
  const words = [...HOMES.keys()]
  const loaded = await Promise.all((Object.keys(LOAD) as Home[]).map(commandsOf))
  const place = ({ name }: Command): number => words.indexOf(name.split(' ')[0]!)
  return loaded.flat().toSorted((a, b) => place(a) - place(b))
}

/** Returns the commands that a command line may mean. Throws a `UsageError`. */
export async function commandsFor([first = '']: readonly string[]): Promise<readonly Command[]> {
  if (Object.hasOwn(ALONE, first)) return [await ALONE[first]!()]
  const home = HOMES.get(first)
  if (home === undefined || first === 'help') return allCommands()
  const commands = await commandsOf(home)
  if (commands.length > 0) return commands
  throw new UsageError(
    'NOT_INSTALLED',
    `squall ${first} is not in the sidecar image`,
    'use the image tag without the suffix -sidecar, or the npm package',
  )
}

/** Returns the text of the options of the program itself, for which no command is loaded. */
async function printed([option, ...others]: readonly string[]): Promise<string | undefined> {
  if (others.length > 0) return undefined
  if (option === '--version' || option === '-v') return `${readVersion()}\n`
  if (option !== '--help' && option !== '-h') return undefined
  const { PROGRAM_HELP } = await import('./commands/program-help.ts')
  return `${PROGRAM_HELP}${endOfHelp(PROGRAM)}\n`
}

/** Runs the command line of the process; returns its exit code. */
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

/** Ends the process when its output is lost. */
function outputFailed({ code, message }: NodeJS.ErrnoException): void {
  // The reader closed the pipe, as `head` does, or the disk with the log is full.
  if (code === 'EPIPE' || output.isLog) return
  process.stderr.write(`squall: standard output cannot be written (${code ?? message})\n`)
  process.exit(1)
}

/** Runs the program, and ends the process. */
export function runProgram(): void {
  process.stdout.on('error', outputFailed)
  // Exiting at once would lose text that is still being written to a pipe.
  const end = (code: number, text: string): unknown =>
    process.stdout.write(text, (error) => {
      if (error) outputFailed(error)
      process.exit(code)
    })
  main().then(
    (code) => end(code, ''),
    (error: unknown) => {
      const { code, stdout, stderr } = endingOf(error, process.argv.slice(2))
      process.stderr.write(stderr)
      end(code, output.hasBegun ? '' : stdout)
    },
  )
}
