import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { KubeError } from './kube-error.ts'

const MAX_BYTES = 4 * 1024 * 1024

/** Reads a file that access to the cluster depends on: nothing endless, nothing that blocks. */
export function readKubeFile(path: string, what: string): string {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new KubeError(
      'config',
      `${what}: ${path} cannot be read (${code ?? 'error'}); check the path and its permissions`,
    )
  }
  try {
    const stat = fstatSync(file)
    if (!stat.isFile() || stat.size > MAX_BYTES) {
      throw new KubeError('config', `${what}: ${path} is not a file of at most 4MiB`)
    }
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}
