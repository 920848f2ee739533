import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { readWhole } from '../files.ts'
import { WatchedFiles } from './watched-files.ts'
import { systemReason } from '../system-reason.ts'

/** The text of a file, or the reason for its absence; `absent` for a missing file. */
export type SmallFile =
  { readonly text: string } | { readonly absent: boolean; readonly trouble: string }

/** The limit of Kubernetes for all labels and annotations of an object. */
const MAX_BYTES = 256 * 1024
const SETTLE = 10
const POLL = 5_000

/** Reads a small file whenever it may have changed; calls `onFile` after each read. */
export function watchSmallFile(
  path: string,
  onFile: (file: SmallFile) => void | Promise<void>,
): WatchedFiles {
  const files = new WatchedFiles(
    [path],
    async () => {
      const file = await readSmall(path)
      if (!files.closed.aborted) await onFile(file)
    },
    { settleMs: SETTLE, pollMs: POLL },
  )
  return files
}

async function readSmall(path: string): Promise<SmallFile> {
  try {
    const text = await readText(path)
    if (text !== undefined) return { text }
    return { absent: false, trouble: `has more than ${MAX_BYTES} bytes` }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const absent = code === 'ENOENT' || code === 'ENOTDIR'
    return { absent, trouble: `cannot be read: ${systemReason(error)}` }
  }
}

/** Returns the text of a file; undefined when it is too long. Never waits for a pipe. */
async function readText(path: string): Promise<string | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return (await readWhole(handle, 0, MAX_BYTES))?.toString('utf8')
  } finally {
    await handle.close()
  }
}
