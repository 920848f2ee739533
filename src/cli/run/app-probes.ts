import { AppProbesError, parseAppProbesJson } from '../../admin/probes/app-probe-parse.ts'
import type { AppProbes } from '../../admin/probes/app-probe.ts'
import { parseUpstreamHost } from '../flags/address.ts'
import type { RunFlag } from '../flags/flag-table.ts'
import type { FlagValues } from '../flags/flag-values.ts'
import { UsageError } from '../flags/usage-error.ts'

const LOOPBACK = '127.0.0.1'

/** The probes that the admin port performs in the kubelet's stead. Throws nothing but a `UsageError`. */
export function parseAppProbes(flags: FlagValues<RunFlag>): AppProbes {
  const given = flags.optional('app-probes')
  if (given === undefined) return []
  const moved = flags.optional('upstream-host')
  const host = moved === undefined ? LOOPBACK : parseUpstreamHost(moved.text, moved.source)
  if (flags.required('admin').text === 'off') {
    throw new UsageError(
      'BAD_COMBINATION',
      `${given.source}: there is no admin port that could be asked`,
      'give --admin an address',
    )
  }
  try {
    return parseAppProbesJson(given.text, host)
  } catch (error) {
    if (!(error instanceof AppProbesError)) throw error
    throw new UsageError(
      'BAD_VALUE',
      `${given.source}: ${error.message}`,
      'write {"container/readyz": {"httpGet": {"path": "/", "port": 3000}}}',
    )
  }
}
