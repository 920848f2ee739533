import { appendFile } from 'node:fs/promises'
import { quoted, systemReason } from '#base'
import { invalidFile } from '#cli'

/** The end of a call of a tool, or the start of a run. */
export interface AuditEntry {
  readonly tool: string
  /** The name and the version that the client stated. */
  readonly client: string
  /** The digest of the policy that the call found. */
  readonly policy: string
  readonly outcome: 'started' | 'done' | 'denied' | 'approval_required' | 'failed'
  /** The reasons of a denial, or of a failure. */
  readonly reasons?: readonly string[]
  readonly proposal?: string
  readonly digest?: string
  /** Without user, password and query. */
  readonly target?: string
  readonly approvedBy?: string
  readonly experiment?: string
  readonly verdict?: string
}

/** Writes an entry. Rejects when it cannot be written. */
export type Audit = (entry: AuditEntry) => Promise<void>

/** Opens an audit log of JSON lines; without a path, entries are dropped. Throws a `UsageError`. */
export async function openAudit(path: string | undefined): Promise<Audit> {
  if (path === undefined) return () => Promise.resolve()
  const add = (text: string): Promise<void> => appendFile(path, text, { mode: 0o600 })
  try {
    await add('')
  } catch (error) {
    throw invalidFile(
      `--audit: ${quoted(path)} cannot be written (${systemReason(error)})`,
      'check its directory and its permissions',
    )
  }
  return (entry) => add(`${JSON.stringify({ at: new Date().toISOString(), ...entry })}\n`)
}
