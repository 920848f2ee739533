import { setTimeout as sleep } from 'node:timers/promises'
import { readFile } from 'node:fs/promises'
import type { SidecarAdmin } from '../../admin/api-client.ts'
import { MARKER } from './armed-rules.ts'
import type { LockHolder } from './lock.ts'
import { putBack } from './rules-place.ts'
import { askState } from './sidecar-admin.ts'

const WAIT_MS = 3000
const POLL_MS = 50

/**
 * Puts back what an experiment that died had taken over, if its rules are still there. The result
 * says whether that was done. What cannot be done is left: the rules have ended by themselves.
 */
export async function putBackOfDead(dead: LockHolder, admin: SidecarAdmin): Promise<boolean> {
  const { backup, id } = dead
  if (backup === undefined) return false
  try {
    const now = await readFile(backup.path, 'utf8')
    if (!now.includes(`"${MARKER}${id}"`)) return false
    const before = (await askState(admin)).rules.digest
    const { path, bytes, ...rest } = backup
    const previous = bytes === null ? undefined : Buffer.from(bytes, 'base64')
    await putBack(path, { ...rest, bytes: previous })
    for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
      if ((await askState(admin)).rules.digest !== before) break
      await sleep(POLL_MS)
    }
    return true
  } catch {
    return false
  }
}
