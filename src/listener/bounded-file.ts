import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

// A bundle of all public roots is a quarter of this.
const MAX_FILE_BYTES = 1024 * 1024

/** Why something that is there was not read. */
export const NO_FILE = 'not a file of at most 1MiB'

/** Reads a small file: nothing endless, nothing that blocks. */
export function readBounded(path: string): Buffer {
  // A named pipe that nobody writes to would hold the start up for good.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(file)
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES) throw new Error(NO_FILE)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}
