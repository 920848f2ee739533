import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** The path names no file, or a file with more bytes than are read. */
export class NoSmallFileError extends Error {
  override readonly name = 'NoSmallFileError'

  constructor(most: number) {
    super(`not a file of at most ${most / 2 ** 20}MiB`)
  }
}

// A bundle of all public roots is a quarter of this.
const MAX_FILE_BYTES = 1024 * 1024

/** Why something that is there was not read. */
export const NO_FILE = new NoSmallFileError(MAX_FILE_BYTES).message

/** Reads a certificate, a key, a token or settings. */
export function readBounded(path: string): Buffer {
  return readBoundedFile(path, MAX_FILE_BYTES)
}

/** Reads a file of at most so many bytes: nothing endless, nothing that blocks. */
export function readBoundedFile(path: string, most: number): Buffer {
  // A named pipe that nobody writes to would hold the program up for good.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(file)
    if (!stat.isFile() || stat.size > most) throw new NoSmallFileError(most)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}
