import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Creates a directory and its parents. The `recursive` of Node never ends below `/proc`. */
export async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  const missing: string[] = []
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at)
  for (const each of missing) {
    await mkdir(each, { mode }).catch((error: NodeJS.ErrnoException) => {
      // Another process may have created it.
      if (error.code !== 'EEXIST') throw error
    })
  }
}
