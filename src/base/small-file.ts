import { NoSmallFileError, readBoundedFile } from './bounded-file.ts'

// A bundle of all public roots is a quarter of this.
const MAX_FILE_BYTES = 1024 * 1024

/** Why something that is there was not read. */
export const NO_FILE = new NoSmallFileError(MAX_FILE_BYTES).message

/** Reads a certificate, a key, a token or settings. */
export function readBounded(path: string): Buffer {
  return readBoundedFile(path, MAX_FILE_BYTES)
}
