import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** The path names no file, or a file with more bytes than are read. */
export class NoSmallFileError extends Error {
  override readonly name = 'NoSmallFileError'

  constructor(most: number) {
    super(`not a file of at most ${most / 2 ** 20}MiB`)
  }
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
