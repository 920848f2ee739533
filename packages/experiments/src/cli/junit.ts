import { junitText, type JUnitSuite } from '../report/junit.ts'
import { writeText } from '#cli'

/** Writes a suite as JUnit XML where `--junit` names a file. */
export async function writeJunit(file: string | undefined, suite: JUnitSuite): Promise<void> {
  if (file !== undefined) await writeText(file, '--junit', junitText(suite))
}

/** Reports a result that is not stored completely. */
class UnwrittenError extends Error {
  readonly code = 'UNWRITTEN'
}

/** Writes a result in steps, each although another failed. Throws an `UnwrittenError`. */
export async function writeAll(...steps: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: Error[] = []
  for (const step of steps) await step().catch((error: Error) => errors.push(error))
  if (errors.length === 0) return
  const [cause] = errors
  throw new UnwrittenError(errors.map(({ message }) => message).join('; also '), { cause })
}

/** Runs a command. An error that ends it without a result becomes the suite of the JUnit file. */
export async function withJunit(
  file: string | undefined,
  name: string,
  run: () => Promise<number>,
): Promise<number> {
  const startedAt = new Date().toISOString()
  try {
    return await run()
  } catch (error) {
    if (error instanceof UnwrittenError) throw error
    const cases = [{ name: 'it can run', seconds: 0, error: (error as Error).message }]
    // The error is reported, and not that its file cannot be written either.
    await writeJunit(file, { name, startedAt, seconds: 0, cases }).catch(() => undefined)
    throw error
  }
}
