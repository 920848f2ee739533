import { readFile } from 'node:fs/promises'
import { endpointText } from '../admin/contract/endpoint.ts'
import { UsageError } from '../base/flags/usage-error.ts'
import type { ListenAddress } from '../http/address.ts'
import type { BindError } from '../listener/front/bind.ts'

const LIMIT_MS = 3_000

/** Returns the error for an address that cannot be bound; it names a Squall at the admin port. */
export async function cannotListen(
  { problem, remedy }: BindError,
  admin: ListenAddress | undefined,
): Promise<UsageError> {
  const isTaken = problem.endsWith('in use') && admin?.kind === 'tcp'
  const pid = isTaken ? await pidAt(admin) : undefined
  if (!isTaken || pid === undefined) return new UsageError('CANNOT_LISTEN', problem, remedy)
  const found = `${problem}: Squall (pid ${pid}) uses the admin port ${endpointText(admin)}`
  const fix = `if that process also uses this address, stop it with kill ${pid}, or choose another address`
  return new UsageError('CANNOT_LISTEN', found, fix)
}

/** Returns the process behind an admin port, when it is a Squall of this machine. */
async function pidAt(admin: Extract<ListenAddress, { kind: 'tcp' }>): Promise<string | undefined> {
  try {
    const url = `http://${endpointText(admin)}/livez`
    const { headers } = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) })
    const pid = /^[1-9]\d{0,9}$/.exec(headers.get('x-squall-pid') ?? '')?.[0]
    // A port that is forwarded leads to a process elsewhere, with a pid of that place.
    return pid !== undefined && (await isSquall(pid)) ? pid : undefined
  } catch {
    return undefined
  }
}

async function isSquall(pid: string): Promise<boolean> {
  process.kill(Number(pid), 0)
  if (process.platform !== 'linux') return true
  return /squall|cli\/main\.js/.test(await readFile(`/proc/${pid}/cmdline`, 'utf8'))
}
