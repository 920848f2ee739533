import { open } from 'node:fs/promises'
import { MAX_FILE_BYTES, parseRules, type ParsedRules } from '../rules/parse.ts'

/** Reads and checks a rules file, `-` being standard input. Never throws. */
export async function readRulesFile(file: string): Promise<ParsedRules> {
  try {
    return parseRules(file === '-' ? await readAll(process.stdin) : await readFile(file))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const problem = { code: 'unreadable', path: '', line: 1, column: 1 } as const
    const problems = [{ ...problem, message: `cannot be read: ${reason}` }]
    return { ok: false, problems, digest: '' }
  }
}

/** Reads no more than shows that a file is too large, so that endless ones end. */
async function readFile(file: string): Promise<Uint8Array> {
  const handle = await open(file, 'r')
  try {
    if ((await handle.stat()).isDirectory()) throw new Error('it is a directory')
    return await readAll(handle.createReadStream({ autoClose: false }))
  } finally {
    await handle.close()
  }
}

async function readAll(stream: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array)
    chunks.push(bytes)
    size += bytes.length
    if (size > MAX_FILE_BYTES) break
  }
  return Buffer.concat(chunks)
}
