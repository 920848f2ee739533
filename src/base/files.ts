import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
} from 'node:fs'
import { type FileHandle, mkdir, open, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { dirname, resolve } from 'node:path'
import { asBuffer } from './bytes.ts'
import { parsedJson } from './values.ts'

/** A pipe that is silent for this long fails, in milliseconds. */
const PIPE_PATIENCE = 60_000
/** Opening a pipe without a writer would block forever. */
const NO_WAIT = constants.O_RDONLY | constants.O_NONBLOCK

/**
 * Reads a file, `-` being standard input, up to the first bytes beyond `most`. Pipes, which shells
 * pass in place of files, are read to their end; a pipe without a writer is rejected.
 */
export async function readBounded(path: string, most: number): Promise<Uint8Array> {
  if (path === '-') return readUpTo(process.stdin, most)
  const stats = await stat(path)
  const wrong = whyNoFile(stats)
  if (wrong !== undefined) throw new Error(wrong)
  if (stats.isFIFO()) return readPipe(path, most)
  const handle = await open(path, NO_WAIT)
  try {
    return await readUpTo(handle.createReadStream({ autoClose: false }), most)
  } finally {
    await handle.close()
  }
}

/** Reads a text in UTF-8, as `readBounded` does. Throws for more than `most` bytes. */
export async function readBoundedText(path: string, most: number): Promise<string> {
  const bytes = await readBounded(path, most)
  if (bytes.length > most) throw new Error(`it is larger than ${most / 2 ** 20} MiB`)
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

/** Reads an own JSON file; undefined when it is missing, or is not JSON. */
export async function readJsonFile(path: string): Promise<unknown> {
  return parsedJson(await readFile(path, 'utf8').catch(() => ''))
}

function whyNoFile(stats: Stats): string | undefined {
  if (stats.isDirectory()) return 'it is a directory'
  return stats.isSocket() || stats.isBlockDevice() ? 'not a regular file' : undefined
}

async function readPipe(path: string, most: number): Promise<Uint8Array> {
  const fd = openSync(path, NO_WAIT)
  const first: Buffer[] = []
  try {
    if (readAvailable(fd, most, first)) {
      closeSync(fd)
      return Buffer.concat(first)
    }
  } catch (error) {
    closeSync(fd)
    throw error
  }
  const socket = new Socket({ fd, readable: true, writable: false })
  socket.setTimeout(PIPE_PATIENCE, () => {
    socket.destroy(new Error(`nothing was written to the pipe for ${PIPE_PATIENCE / 1000} seconds`))
  })
  return Buffer.concat([...first, await readUpTo(socket, most)])
}

/**
 * Reads the available bytes; returns true at the end. A pipe whose writers left before it was
 * opened has ended, and no event ever reports that.
 */
function readAvailable(fd: number, most: number, into: Buffer[]): boolean {
  try {
    for (let size = 0; size <= most;) {
      const bytes = Buffer.alloc(4096)
      const length = readSync(fd, bytes)
      if (length === 0 && size === 0) throw new Error('the pipe has no writer')
      if (length === 0) return true
      into.push(bytes.subarray(0, length))
      size += length
    }
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
    throw error
  }
}

/** Reads a stream up to the first bytes beyond `most`. */
export async function readUpTo(
  stream: AsyncIterable<Uint8Array | string>,
  most: number,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : asBuffer(chunk)
    chunks.push(bytes)
    size += bytes.length
    if (size > most) break
  }
  return Buffer.concat(chunks)
}

/**
 * Reads all bytes of a file, regardless of its reported size; undefined when there are too many.
 */
export async function readWhole(
  handle: FileHandle,
  expected: number,
  most: number,
): Promise<Buffer | undefined> {
  // One byte more than the size shows the end with one read.
  let buffer = Buffer.alloc(expected + 1)
  for (let length = 0; ;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length)
    if (bytesRead === 0) return buffer.subarray(0, length)
    length += bytesRead
    if (length > most) return undefined
    if (length === buffer.length) buffer = Buffer.concat([buffer, Buffer.alloc(length + 4096)])
  }
}

// A bundle of all public roots is a quarter of this.
const MAX_FILE_BYTES = 1024 * 1024

/**
 * Reads a certificate, a key, a token or settings: a file of at most `most` bytes. Rejects pipes
 * and devices, which may block or never end.
 */
export function readSmallFile(path: string, most: number = MAX_FILE_BYTES): Buffer {
  const file = openSync(path, NO_WAIT)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile() || stats.size > most) {
      throw new Error(`not a file of at most ${most / 2 ** 20}MiB`)
    }
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

/** Replaces a file at once: nobody reads half of it. */
export async function replaceText(path: string, text: string, mode = 0o666): Promise<void> {
  const beside = `${path}.${process.pid}.new`
  await writeFile(beside, text, { mode })
  await rename(beside, path)
}

/** Creates a directory and its parents. The `recursive` of Node never ends below `/proc`. */
export async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  const missing: string[] = []
  for (let at = resolve(path); !existsSync(at) && at !== missing[0]; at = dirname(at))
    missing.unshift(at)
  for (const each of missing) {
    await mkdir(each, { mode }).catch((error: NodeJS.ErrnoException) => {
      // Another process may have created it.
      if (error.code !== 'EEXIST') throw error
    })
  }
  // Fails where a file has the name, or a link leads nowhere.
  await stat(`${path}/.`)
}
