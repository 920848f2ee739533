import { readFile } from 'node:fs/promises'

/** Identifies a process beyond its number, which others had or will have. */
export interface ProcessIdentity {
  readonly pid: number
  /** When it began, in ticks since boot; undefined where the system does not tell. */
  readonly began: string | undefined
}

/** The identity of this process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, began: await beganOf(process.pid) }
}

/** Returns true while this very process runs. */
export async function isAlive({ pid, began }: ProcessIdentity): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // It is there, and somebody else's.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const now = await beganOf(pid)
  return now === undefined || began === undefined || now === began
}

/** When a process began; undefined when it is gone, or where the system does not tell. */
async function beganOf(pid: number): Promise<string | undefined> {
  return (await statOf(pid))?.began
}

/** The state of a process on Linux. */
export interface ProcessStat {
  readonly state: string
  readonly parent: number
  readonly began: string
}

/** State, parent and begin of a process; undefined when it is gone, or not on Linux. */
export async function statOf(pid: number): Promise<ProcessStat | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name before may hold anything, brackets and blanks included.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent = ''] = fields
    return { state, parent: Number(parent), began: fields[19] ?? '' }
  } catch {
    return undefined
  }
}
