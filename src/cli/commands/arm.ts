import { changeSidecar, type SidecarChange } from '../change-sidecar.ts'
import { requiredAdminToken, SIDECAR_CHANGE_FLAGS } from '../../sidecar/flags/admin-access.ts'
import { parseEndpoints } from '../flags/admin-endpoints.ts'
import { type Command, defineCommand } from '../flags/command.ts'
import { type Given, group } from '../../base/flags/flag.ts'
import { one } from '../../base/flags/kinds.ts'
import { invalidOption } from '../../base/flags/usage-error.ts'
import { printOutcomes } from '../sidecar-outcomes.ts'

const MAX_REASON = 200

const DISARM_FLAGS = group('Sidecars:', {
  adminTokenFile: SIDECAR_CHANGE_FLAGS.adminTokenFile,
  reason: one('text', 'reason to disarm, which logs, the page and the admin API show', parseReason),
  timeout: SIDECAR_CHANGE_FLAGS.timeout,
  json: SIDECAR_CHANGE_FLAGS.json,
})
const { reason: _reason, ...ARM_FLAGS } = DISARM_FLAGS

export const DISARM = armCommand('disarm', 'end all faults of sidecars at once, until squall arm')
export const ARM = armCommand('arm', 'let the rules of sidecars act again after squall disarm')

function armCommand(what: SidecarChange['what'], description: string): Command {
  return defineCommand({
    name: what,
    examples: [what, `${what} 127.0.0.1:15390 127.0.0.1:15391`],
    page: 'docs/reference/admin-api.md',
    description,
    operands: { form: '[addresses...]', most: Infinity },
    flags: what === 'arm' ? (ARM_FLAGS as typeof DISARM_FLAGS) : DISARM_FLAGS,
    note: `
The token of --admin-token-file or SQUALL_ADMIN_TOKEN is required. Addresses are those of admin ports,
host:port (default: 127.0.0.1:15390). In a cluster, use squall stop.
Exit code: 1 when a sidecar did not confirm.`,
    parse: ({ adminTokenFile, reason, timeout, json }, { env, operands }) => {
      const token = requiredAdminToken(adminTokenFile, env)
      const change = { what, token, timeout, reason: reason ?? 'by squall disarm' }
      return { endpoints: parseEndpoints(operands), json, change }
    },
    start: async ({ endpoints, change, json }) => {
      const outcomes = await Promise.all(endpoints.map((each) => changeSidecar(each, change)))
      const shown = outcomes.map((each) => ({ ...each, lines: [each.text], value: each }))
      return printOutcomes(shown, json)
    },
  })
}

function parseReason({ text, source }: Given): string {
  if (text.length <= MAX_REASON) return text
  throw invalidOption(source, `has more than ${MAX_REASON} characters`, 'shorten it')
}
