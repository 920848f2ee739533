import { quoted } from '#base'
import { LoadError } from '../load/load-error.ts'
import { invalidFile, readText } from '#cli'

/** Reads and parses an input of `squall load`. Throws a `UsageError`. */
export async function readAs<T>(
  path: string,
  source: string,
  most: number,
  parse: (text: string) => T,
): Promise<T> {
  const text = await readText(path, most, `${source}: ${quoted(path)}`)
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    throw invalidFile(`${source}: ${error.wrong}`, error.fix)
  }
}
