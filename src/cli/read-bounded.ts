import { open } from 'node:fs/promises'

/** Reads a file, `-` being standard input; no more of it than shows that it is too large. */
export async function readBounded(path: string, most: number): Promise<Uint8Array> {
  if (path === '-') return readAll(process.stdin, most)
  const handle = await open(path, 'r')
  try {
    return await readAll(handle.createReadStream({ autoClose: false }), most)
  } finally {
    await handle.close()
  }
}

async function readAll(
  stream: AsyncIterable<Uint8Array | string>,
  most: number,
): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array)
    chunks.push(bytes)
    size += bytes.length
    if (size > most) break
  }
  return Buffer.concat(chunks)
}
