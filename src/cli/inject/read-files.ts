import { parse } from 'yaml'
import { quoted } from '../../base/text/foreign-text.ts'
import { assertShallow } from '../../base/yaml/yaml-depth.ts'
import { readBounded } from '../../base/read-bounded.ts'
import { UsageError } from '../flags/usage-error.ts'
import type { ManifestText } from './change-manifests.ts'

const MOST_BYTES = 16 * 2 ** 20
const MOST_SETTINGS = 2 ** 20

/** The texts of manifests, `-` being standard input. Throws `UsageError`. */
export async function readFiles(files: readonly string[]): Promise<readonly ManifestText[]> {
  const texts: ManifestText[] = []
  for (const file of files) {
    texts.push({
      file: file === '-' ? 'standard input' : file,
      text: await readText(file, MOST_BYTES),
    })
  }
  return texts
}

/** Returns the content of a settings file. Throws `UsageError`. */
export async function readSettings(file: string): Promise<unknown> {
  const text = await readText(file, MOST_SETTINGS)
  try {
    assertShallow(text)
    return parse(text)
  } catch (error) {
    throw new UsageError('BAD_FILE', `${quoted(file)}: ${reasonOf(error)}`, 'fix it')
  }
}

async function readText(file: string, most: number): Promise<string> {
  let bytes: Uint8Array
  try {
    bytes = await readBounded(file, most)
  } catch (error) {
    const wrong = `${quoted(file)} cannot be read: ${reasonOf(error)}`
    throw new UsageError('BAD_FILE', wrong, 'name a file that is there')
  }
  if (bytes.length > most) {
    const wrong = `${quoted(file)} is larger than ${most / 2 ** 20} MiB`
    throw new UsageError('BAD_FILE', wrong, 'split it')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UsageError('BAD_FILE', `${quoted(file)} is not UTF-8`, 'write it as UTF-8')
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
