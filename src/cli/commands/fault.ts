import { FAULT_FLAGS } from '../fault/fault-flags.ts'
import {
  adminTokenOf,
  readTokenFlag,
  readTokenOf,
  requiredAdminToken,
} from '../../sidecar/flags/admin-access.ts'
import { SIDECAR_FLAGS } from '../flags/admin-endpoints.ts'
import { type Context, operation, type RequestOf } from '../flags/command.ts'
import type { Values } from '../../base/flags/flag.ts'
import { missing } from '../../base/flags/usage-error.ts'

const PAGE = 'docs/guides/one-command-faults.md'
const NOTE = `
The target sidecar requires an admin token: pass --admin-token-file or set SQUALL_ADMIN_TOKEN.
Exit code: 1 if a sidecar did not confirm.`

export const FAULT_ADD = operation({
  name: 'fault add',
  examples: [
    'fault add --tool search_docs --delay 2s --percent 30 --for 30s',
    'fault add --tool "search_*" --fault "hang: { at: headers }" --for 5m',
  ],
  page: PAGE,
  description: 'inject a temporary fault without changing the rules file',
  flags: { ...FAULT_FLAGS, ...SIDECAR_FLAGS },
  fromEnvironment: false,
  note: NOTE,
  parse: (flags, context) => ({ ...changeOf(flags, context), flags }),
})

export const FAULT_LIST = operation({
  name: 'fault list',
  examples: ['fault list', 'fault list --json'],
  page: PAGE,
  description: 'list the temporary faults in one or more sidecars',
  flags: { ...SIDECAR_FLAGS, ...readTokenFlag('Sidecars:') },
  fromEnvironment: false,
  parse: (flags, { env }) => {
    const { sidecar: endpoints, timeout, json } = flags
    const token =
      readTokenOf(flags.adminReadTokenFile, env) ?? adminTokenOf(flags.adminTokenFile, env)
    return { endpoints, token, timeout, json }
  },
})

/** The sidecars of a command, and how it asks them. */
export type FaultRequest = RequestOf<typeof FAULT_LIST>

export const FAULT_REMOVE = operation({
  name: 'fault remove',
  examples: ['fault remove added-1', 'fault remove slow-search --sidecar 127.0.0.1:15391'],
  page: PAGE,
  description: 'remove one temporary fault by name',
  operands: { form: '<name>', most: 1 },
  flags: SIDECAR_FLAGS,
  fromEnvironment: false,
  note: NOTE,
  parse: (flags, context) => {
    const [name] = context.operands
    if (name === undefined) {
      throw missing('no name', 'squall fault list shows the names; squall fault clear removes all')
    }
    return { ...changeOf(flags, context), name }
  },
})

export const FAULT_CLEAR = operation({
  name: 'fault clear',
  examples: ['fault clear', 'fault clear --sidecar 127.0.0.1:15391'],
  page: PAGE,
  description: 'remove all temporary faults',
  flags: SIDECAR_FLAGS,
  fromEnvironment: false,
  note: NOTE,
  parse: changeOf,
})

function changeOf(flags: Values<typeof SIDECAR_FLAGS>, { env }: Context): FaultRequest {
  const { sidecar: endpoints, adminTokenFile, timeout, json } = flags
  return { endpoints, token: requiredAdminToken(adminTokenFile, env), timeout, json }
}
