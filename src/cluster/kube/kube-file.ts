import { NoSmallFileError, readBoundedFile } from '../../base/small-file.ts'
import { KubeError } from './kube-error.ts'

const MAX_BYTES = 4 * 1024 * 1024

/** Reads a file that access to the cluster depends on. Throws nothing but a `KubeError`. */
export function readKubeFile(path: string, what: string): string {
  try {
    return readBoundedFile(path, MAX_BYTES).toString('utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new KubeError(
      'config',
      error instanceof NoSmallFileError
        ? `${what}: ${path} is ${error.message}`
        : `${what}: ${path} cannot be read (${code ?? 'error'}); check the path and its permissions`,
    )
  }
}
