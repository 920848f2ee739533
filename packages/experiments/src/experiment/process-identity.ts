import { readFile } from 'node:fs/promises'

/** Identifies a process by more than its pid, which can be reused. */
export interface ProcessIdentity {
  readonly pid: number
  /** The start time in ticks since boot; undefined when the system does not provide it. */
  readonly began: string | undefined
}

/** Returns true while this process runs. */
export async function isAlive({ pid, began }: ProcessIdentity): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // The process exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const now = (await statOf(pid))?.began
  return now === undefined || began === undefined || now === began
}

/** Reads state, parent and start time of a process; undefined when it ended, or not on Linux. */
export async function statOf(pid: number) {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The preceding name may contain brackets and blanks.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent = ''] = fields
    return { state, parent: Number(parent), began: fields[19] ?? '' }
  } catch {
    return undefined
  }
}
