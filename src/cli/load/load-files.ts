import { writeFile } from 'node:fs/promises'
import { quoted } from '../../base/text/foreign-text.ts'
import { LoadError } from '../../lab/load/load-error.ts'
import { readBounded } from '../../base/read-bounded.ts'
import { UsageError } from '../flags/usage-error.ts'

/** Reads and parses a text file. Throws a `UsageError`. */
export async function readAs<T>(
  path: string,
  source: string,
  most: number,
  read: (text: string) => T,
): Promise<T> {
  let bytes: Uint8Array
  try {
    bytes = await readBounded(path, most)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(
      'BAD_FILE',
      `${source}: ${quoted(path)} cannot be read (${code ?? message})`,
      'name a file that is there and readable',
    )
  }
  if (bytes.length > most) {
    throw new UsageError(
      'BAD_FILE',
      `${source}: ${quoted(path)} is too large`,
      `use up to ${most} bytes`,
    )
  }
  try {
    return read(Buffer.from(bytes).toString('utf8'))
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    throw new UsageError('BAD_FILE', `${source}: ${error.wrong}`, error.fix)
  }
}

/** Writes to standard output, and waits until the text is written. */
export function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()))
}

/** Writes a file, or to standard output without a path. Throws a `UsageError` when it cannot. */
export async function writeText(
  path: string | undefined,
  source: string,
  text: string,
): Promise<void> {
  if (path === undefined) return print(text)
  try {
    await writeFile(path, text)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw new UsageError(
      'BAD_FILE',
      `${source}: ${quoted(path)} cannot be written (${code})`,
      'check its directory',
    )
  }
}
