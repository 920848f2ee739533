import { parseBaseline } from '../load/baseline.ts'
import { parseCalls } from '../load/calls-file.ts'
import type { LoadOptions } from '../load/load-options.ts'
import { urlNames } from '#rules'
import { type FlagInput, invalidOption, rejectProduction } from '#cli'
import { readAs } from './read-input.ts'
import type { LoadRequest } from '../commands/load.ts'
import { parseExpectation } from '../load/expectation.ts'
import { LoadError } from '../load/load-error.ts'
import { parseSlo, type SloGate } from '../load/results/slo.ts'
import { NAME_SIDECAR, needsVerdicts } from '../load/sidecar-tasks.ts'
import { withToken } from './server-flags.ts'

const MAX_CALLS_FILE = 1024 * 1024
const MAX_BASELINE = 64 * 1024 * 1024

/** Builds the options of the load; reads the files in the request. Throws a `UsageError`. */
export async function loadInputs(request: LoadRequest, version: string): Promise<LoadOptions> {
  const { target: url, protocolVersion, shard } = request
  rejectProduction(request.production, urlNames('--target', url))
  // Before any file is read: these are errors of the command line.
  const expectations = request.expect.map((given) =>
    asUsage(given, () => parseExpectation(given.text)),
  )
  const slo = gatesOf(request)
  const calls =
    request.calls === undefined
      ? []
      : await readAs(request.calls, '--calls', MAX_CALLS_FILE, parseCalls)
  const baseline =
    request.baseline === undefined
      ? undefined
      : await readAs(request.baseline, '--baseline', MAX_BASELINE, parseBaseline)
  const headers = await withToken(request.header, request.authTokenFile)
  return {
    target: {
      url,
      client: request.clientKind,
      connections: request.connections,
      headers,
      ...(protocolVersion !== undefined && { protocolVersion }),
      ...(request.sidecars.length > 0 && { sidecars: request.sidecars }),
    },
    work: { tools: request.tools, calls, fanOut: request.fanOut, sequential: request.sequential },
    pace: request.pace,
    resilience: request.resilience,
    checks: { expectations, slo, ...(baseline !== undefined && { baseline }) },
    seed: request.seed,
    version,
    ...(shard !== undefined && { shard }),
  }
}

function gatesOf({ slo, sidecars, shard }: LoadRequest): SloGate[] {
  return slo.map((given) => {
    const gate = asUsage(given, () => parseSlo(given.text))
    if (gate.metric.ofVerdicts === true) {
      if (sidecars.length === 0) {
        throw invalidOption(given.source, needsVerdicts(gate), NAME_SIDECAR)
      }
      if (shard !== undefined) {
        const wrong = `the gate ${gate.text} requires the tasks of all shards`
        throw invalidOption(given.source, wrong, 'remove --shard')
      }
    }
    return gate
  })
}

function asUsage<T>({ source }: FlagInput, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    throw invalidOption(source, error.wrong, error.fix)
  }
}
