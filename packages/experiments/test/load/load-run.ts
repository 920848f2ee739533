import { LOAD_DEFAULTS, type LoadOptions } from '../../src/load/load-options.ts'
import type { LoadResult } from '../../src/load/results/result.ts'
import { type LoadHooks, runLoad } from '../../src/load/run-load.ts'

/** The options of a load that a test sets; the others have their defaults. */
export interface Asked {
  readonly url: URL
  readonly client?: LoadOptions['target']['client']
  readonly protocolVersion?: string
  readonly sidecars?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly work?: Partial<LoadOptions['work']>
  readonly pace?: Partial<LoadOptions['pace']>
  readonly resilience?: Partial<LoadOptions['resilience']>
  readonly checks?: Partial<LoadOptions['checks']>
  readonly seed?: number
  readonly shard?: { readonly index: number; readonly count: number }
}

/** The whole options of a load. */
export function loadOptions(asked: Asked): LoadOptions {
  const { url, client = 'lean', headers = {}, protocolVersion, shard, sidecars = [] } = asked
  return {
    target: {
      url,
      client,
      headers,
      ...(protocolVersion !== undefined && { protocolVersion }),
      ...(sidecars.length > 0 && { sidecars: sidecars.map((admin) => ({ url: new URL(admin) })) }),
    },
    work: { ...LOAD_DEFAULTS.work, ...asked.work },
    pace: { ...LOAD_DEFAULTS.pace, ...asked.pace },
    resilience: { ...LOAD_DEFAULTS.resilience, ...asked.resilience },
    checks: { ...LOAD_DEFAULTS.checks, ...asked.checks },
    seed: asked.seed ?? LOAD_DEFAULTS.seed,
    version: '0.0.0',
    ...(shard !== undefined && { shard }),
  }
}

/** Runs a load and gives its result. */
export async function load(asked: Asked, hooks: LoadHooks = {}): Promise<LoadResult> {
  return (await runLoad(loadOptions(asked), hooks)).result
}
