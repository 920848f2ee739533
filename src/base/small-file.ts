import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** Reports a path that is not a file, or a file that is too large. */
class NoSmallFileError extends Error {
  override readonly name = 'NoSmallFileError'

  constructor(most: number) {
    super(`not a file of at most ${most / 2 ** 20}MiB`)
  }
}

// A bundle of all public roots is a quarter of this.
const MAX_FILE_BYTES = 1024 * 1024

/**
 * Reads a certificate, a key, a token or settings: a file of at most `most` bytes. Rejects pipes
 * and devices, which may block or never end.
 */
export function readSmallFile(path: string, most: number = MAX_FILE_BYTES): Buffer {
  // Opening a named pipe without a writer would block forever.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(file)
    if (!stat.isFile() || stat.size > most) throw new NoSmallFileError(most)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}
