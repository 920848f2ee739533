import { vi } from 'vitest'
import { endingOf } from '../../../src/cli/ending.ts'
import type { Environment } from '../../../src/base/flags/flag.ts'
import { parseCommandLine } from './command-line.ts'

/** The exit code and output of a command line. */
export interface Came {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a command line in this process, and tells its end as the program does. A process of its own
 * takes half a second to start, so only what is about the program itself has one.
 */
export async function finishHere(args: readonly string[], env: Environment = {}): Promise<Came> {
  let stdout = ''
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text, ...rest) => {
    stdout += String(text)
    const written: unknown = rest.at(-1)
    if (typeof written === 'function') written()
    return true
  })
  try {
    const invocation = parseCommandLine(args, env, '0.0.0')
    if (invocation.kind === 'print') return { code: 0, stdout: invocation.text, stderr: '' }
    const code = await invocation.start()
    return { code, stdout, stderr: '' }
  } catch (error) {
    const { code, ...end } = endingOf(error, args)
    // The program names itself as it was started, and a process of tests was not.
    const shown = (text: string) => text.replaceAll('npx mcp-squall ', 'squall ')
    return { code, stdout: stdout || shown(end.stdout), stderr: shown(end.stderr) }
  } finally {
    spy.mockRestore()
  }
}
