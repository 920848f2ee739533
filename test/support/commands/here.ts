import { vi } from 'vitest'
import { oneLine } from '../../../src/base/text/foreign-text.ts'
import type { Environment } from '../../../src/base/flags/flag.ts'
import { parseCommandLine } from './command-line.ts'
import { UsageError } from '../../../src/base/flags/usage-error.ts'

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
    const reason = error instanceof Error ? error.message : String(error)
    const code = error instanceof UsageError ? 2 : 1
    return { code, stdout, stderr: `squall: ${oneLine(reason)}\n` }
  } finally {
    spy.mockRestore()
  }
}
