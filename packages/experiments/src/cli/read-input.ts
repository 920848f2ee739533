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
  return usable(() => parse(text), `${source}: `)
}

/** Returns what is made of files. Throws a `UsageError` in the place of a `LoadError`. */
export function usable<T>(make: () => T, source = ''): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    throw invalidFile(`${source}${error.wrong}`, error.fix)
  }
}
