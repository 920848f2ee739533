import { output } from './ending.ts'
import { writeFile } from 'node:fs/promises'
import { strictText } from '../base/bytes.ts'
import { quoted } from '../base/text/foreign-text.ts'
import { sizeText } from '../base/units.ts'
import { readBounded } from '../base/files.ts'
import { systemReason } from '../base/system-reason.ts'
import { invalidFile } from '../base/flags/usage-error.ts'

/**
 * Reads a file, `-` being standard input, up to the first bytes beyond `most`. `label` names the
 * file in the `UsageError` that it throws.
 */
export async function readBytes(
  path: string,
  most: number,
  label = quoted(path),
  fix = 'check the path and its permissions',
): Promise<Uint8Array> {
  try {
    return await readBounded(path, most)
  } catch (error) {
    const wrong = `${label} cannot be read (${systemReason(error)})`
    throw invalidFile(wrong, fix)
  }
}

/** Reads a text file without its BOM, as `readBytes` does. */
export async function readText(
  path: string,
  most: number,
  label: string,
  fix?: string,
): Promise<string> {
  const bytes = await readBytes(path, most, label, fix)
  if (bytes.length > most)
    throw invalidFile(`${label} is too large`, `use at most ${sizeText(most)}`)
  const text = strictText(bytes)
  if (text !== undefined) return text
  throw invalidFile(`${label} is not valid UTF-8`, 'convert the file to UTF-8')
}

/** Writes to standard output, and waits until the text is written. */
export function print(text: string): Promise<void> {
  output.hasBegun = true
  return new Promise((resolve) => process.stdout.write(text, () => resolve()))
}

/**
 * Writes a file, or to standard output without a path. Without `force`, an existing file is kept,
 * which throws a `UsageError`.
 */
export async function writeText(
  path: string | undefined,
  source: string,
  text: string,
  force = true,
): Promise<void> {
  if (path === undefined) return print(text)
  try {
    await writeFile(path, text, { flag: force ? 'w' : 'wx' })
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const file = `${source}: ${quoted(path)}`
    if (code !== 'EEXIST') {
      const wrong = `${file} cannot be written (${systemReason(error)})`
      throw new Error(`${wrong}; check its directory`, { cause: error })
    }
    throw invalidFile(
      `${file} already exists`,
      'use --force to overwrite it, or specify another file',
    )
  }
}
