import type { AdminEndpoint } from '../../lab/top/sidecar-view.ts'
import { parseAdminToken } from '../flags/admin-access.ts'
import { parseEndpoints } from '../flags/admin-endpoints.ts'
import { type Command, defineCommand } from '../flags/command.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { parseDuration, type Range } from '../flags/units.ts'
import { badOption, missing } from '../flags/usage-error.ts'

const FLAGS = flagGroup('The sidecars:', {
  'admin-token-file': [
    'path',
    'file with the admin token of the sidecars (or SQUALL_ADMIN_TOKEN itself)',
  ],
  reason: ['text', 'reason to disarm, which logs, the page and the admin API show'],
  timeout: ['duration', 'how long to wait for a sidecar', { default: '5s' }],
  json: 'print the outcome as one JSON document',
})

const MAX_REASON = 200
const TIMEOUT: Range = { min: 1, max: 600_000 }

/** Sidecars to arm or disarm by their admin ports. */
export interface ArmRequest {
  readonly change: 'arm' | 'disarm'
  readonly endpoints: readonly AdminEndpoint[]
  readonly token: string
  readonly reason: string
  readonly timeoutMs: number
  readonly json: boolean
}

export const DISARM = armCommand('disarm', 'end all faults of sidecars at once, until squall arm')
export const ARM = armCommand('arm', 'let the rules of sidecars act again after squall disarm')

function armCommand(change: ArmRequest['change'], description: string): Command {
  return defineCommand({
    name: change,
    examples: [change, `${change} 127.0.0.1:15390 127.0.0.1:15391`],
    page: 'docs/guides/admin-api.md',
    description,
    operands: { form: '[addresses...]', most: Infinity },
    flags: change === 'arm' ? FLAGS.filter(({ name }) => name !== 'reason') : FLAGS,
    note: `
The token of --admin-token-file or SQUALL_ADMIN_TOKEN is required. Addresses are those of admin ports,
host:port (default: 127.0.0.1:15390). In a cluster, use squall stop.
Exit code: 1 when a sidecar did not confirm.`,
    parse: (raw, env, addresses) => parseArm(change, raw, env, addresses),
    start: async (request) => (await import('../arm.ts')).armSidecars(request),
  })
}

function parseArm(
  change: ArmRequest['change'],
  raw: RawFlags,
  env: Environment,
  addresses: readonly string[],
): ArmRequest {
  const flags = new FlagValues(FLAGS, raw, env)
  const token = parseAdminToken(flags, env)
  if (token === undefined) {
    throw missing('no admin token', 'use --admin-token-file with the file that squall run got')
  }
  const reason = flags.optional('reason')
  if (reason !== undefined && reason.text.length > MAX_REASON) {
    throw badOption(reason.source, `has more than ${MAX_REASON} characters`, 'shorten it')
  }
  return {
    change,
    endpoints: parseEndpoints(addresses),
    token,
    reason: reason?.text ?? 'by squall disarm',
    timeoutMs: parseDuration(flags.required('timeout'), TIMEOUT),
    json: flags.switch('json'),
  }
}
