import { plain } from '../../base/text/foreign-text.ts'
import { changeSidecar, type SidecarChange } from '../change-sidecar.ts'
import { print } from '../files.ts'
import { adminTokenOf } from '../flags/admin-access.ts'
import { parseEndpoints } from '../flags/admin-endpoints.ts'
import { type Command, defineCommand } from '../flags/command.ts'
import { type Given, group } from '../flags/flag.ts'
import { asText, duration, one, toggle } from '../flags/kinds.ts'
import { invalidOption, missing } from '../flags/usage-error.ts'

const MAX_REASON = 200
const FAILED = 1

const DISARM_FLAGS = group('Sidecars:', {
  adminTokenFile: one(
    'path',
    'file with the admin token of the sidecars (or SQUALL_ADMIN_TOKEN itself)',
    asText,
  ),
  reason: one('text', 'reason to disarm, which logs, the page and the admin API show', parseReason),
  timeout: duration('how long to wait for a sidecar', { min: 1, max: 600_000 }, '5s'),
  json: toggle('print the outcome as one JSON document'),
})
const { reason: _reason, ...ARM_FLAGS } = DISARM_FLAGS

export const DISARM = armCommand('disarm', 'end all faults of sidecars at once, until squall arm')
export const ARM = armCommand('arm', 'let the rules of sidecars act again after squall disarm')

function armCommand(what: SidecarChange['what'], description: string): Command {
  return defineCommand({
    name: what,
    examples: [what, `${what} 127.0.0.1:15390 127.0.0.1:15391`],
    page: 'docs/guides/admin-api.md',
    description,
    operands: { form: '[addresses...]', most: Infinity },
    flags: what === 'arm' ? (ARM_FLAGS as typeof DISARM_FLAGS) : DISARM_FLAGS,
    note: `
The token of --admin-token-file or SQUALL_ADMIN_TOKEN is required. Addresses are those of admin ports,
host:port (default: 127.0.0.1:15390). In a cluster, use squall stop.
Exit code: 1 when a sidecar did not confirm.`,
    parse: ({ adminTokenFile, reason, timeout, json }, { env, operands }) => {
      const token = adminTokenOf(adminTokenFile, env)
      if (token === undefined) {
        throw missing(
          'no admin token',
          'set SQUALL_ADMIN_TOKEN or --admin-token-file to the token of the sidecar',
        )
      }
      const change = { what, token, timeout, reason: reason ?? 'by squall disarm' }
      return { endpoints: parseEndpoints(operands), json, change }
    },
    start: async ({ endpoints, change, json }) => {
      const outcomes = await Promise.all(endpoints.map((each) => changeSidecar(each, change)))
      const text = json
        ? `${JSON.stringify({ sidecars: outcomes })}\n`
        : outcomes.map(({ address, text: said }) => `${plain(address)}: ${plain(said)}\n`).join('')
      await print(text)
      return outcomes.every(({ ok }) => ok) ? 0 : FAILED
    },
  })
}

function parseReason({ text, source }: Given): string {
  if (text.length <= MAX_REASON) return text
  throw invalidOption(source, `has more than ${MAX_REASON} characters`, 'shorten it')
}
