import { endpointText } from '../admin/contract/endpoint.ts'
import { UsageError } from '../base/flags/usage-error.ts'
import type { ListenAddress } from '../http/address.ts'
import type { BindError } from '../listener/front/bind.ts'

const LIMIT_MS = 1_000

/** Returns the error for an address that cannot be bound; it names a Squall at the admin port. */
export async function cannotListen(
  { problem, remedy }: BindError,
  admin: ListenAddress | undefined,
): Promise<UsageError> {
  const isTaken = problem.endsWith('in use') && admin?.kind === 'tcp'
  const pid = isTaken ? await pidAt(admin) : undefined
  if (!isTaken || pid === undefined) return new UsageError('CANNOT_LISTEN', problem, remedy)
  const found = `${problem}: a Squall runs with the pid ${pid} and the admin port ${endpointText(admin)}`
  return new UsageError('CANNOT_LISTEN', found, `end it by kill ${pid}, or choose another address`)
}

async function pidAt(admin: Extract<ListenAddress, { kind: 'tcp' }>): Promise<string | undefined> {
  try {
    const url = `http://${endpointText(admin)}/livez`
    const { headers } = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) })
    return /^\d+$/.exec(headers.get('x-squall-pid') ?? '')?.[0]
  } catch {
    return undefined
  }
}
