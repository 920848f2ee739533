import { isRecord } from '../../base/values.ts'
import { highestBurstRate } from '../select/burst.ts'
import {
  type Converter,
  convertKind,
  hasList,
  kind,
  type Kinds,
  shapesOf,
  typeOf,
} from './converter.ts'
import { Entry } from './entry.ts'
import { shape, to } from './fields.ts'
import { exactNames, fixedDelay, msText, sharedBy } from './values.ts'

const TOOLS = to('`match.tool`')
const PROBABILITY = to('`probability`')
const FAILURE = to('`abort` with `rpcError`, code -32000 and the same message, `at: response`')
const SHARE = { min: 0, max: 1 }

const PLAN = shape('the plan', {
  seed: to('`seed`; the sampled calls differ from those in mcp-chaos'),
  faults: to('`rules`, in the same order'),
})
const LATENCY = shape('`latency`', {
  type: to('`delay` with `at: response`'),
  added_ms: to('`fixed`; with `jitter_ms`, the `min` of `uniform`'),
  jitter_ms: to('`max` of `uniform`, above `added_ms`'),
  probability: PROBABILITY,
})
const BY_NAME = { type: FAILURE, tools: to('`match.tool`, one rule for each tool') }
const MARKED = { tools: TOOLS, probability: PROBABILITY }

const KINDS: Kinds = {
  latency: kind(LATENCY, (fault) => {
    const added = fault.number('added_ms', 250, { min: 0 })
    const most = added + fault.number('jitter_ms', 0, { min: 0 })
    const { fixed, ...max } = fixedDelay(most)
    const length = most === added ? { fixed } : { uniform: { min: msText(added), max: fixed } }
    fault.report.rule(fault, 'latency', {
      ...sharedBy(fault.number('probability', 1, SHARE)),
      faults: [{ delay: { ...length, ...max, at: 'response' } }],
    })
  }),
  error_injection: kind(
    shape('`error_injection`', { type: FAILURE, rate: PROBABILITY, tools: TOOLS }),
    (fault) => {
      fault.report.rule(fault, 'error-injection', {
        ...aboutTools(fault.texts('tools')),
        ...sharedBy(fault.number('rate', 0.02, SHARE)),
        faults: [failure('injected error')],
      })
    },
  ),
  burst_error: kind(
    shape('`burst_error`', {
      type: FAILURE,
      rate: to('`burst.rate`, up to the rate that bursts of this length can reach'),
      burst_len: to('`burst.length`'),
      tools: to('`match.tool`; bursts then count calls of these tools, not all calls'),
    }),
    burstError,
  ),
  drop_tool: kind(shape('`drop_tool`', BY_NAME), (fault) =>
    byName(fault, 'drop-tool', (tool) => `tool '${tool}' unavailable`),
  ),
  registry_inconsistency: kind(shape('`registry_inconsistency`', BY_NAME), (fault) =>
    byName(fault, 'registry', (tool) => `tool '${tool}' not found (registry inconsistency)`),
  ),
  schema_drift: kind(
    shape('`schema_drift`', { type: to('`rewrite` with `drift: 1`'), ...MARKED }),
    (fault) => {
      fault.changed('type', 'mcp-chaos only marks the result; Squall makes one random change to it')
      marked(fault, 'schema-drift', { rewrite: { drift: 1 } })
    },
  ),
  partial_result: kind(
    shape('`partial_result`', { type: to('`truncate` with half of the content'), ...MARKED }),
    (fault) => {
      fault.changed('type', 'mcp-chaos only marks the result; Squall removes half of its content')
      marked(fault, 'partial-result', { truncate: { content: { percent: '50%' } } })
    },
  ),
  server_degradation: kind(
    shape('`server_degradation`', {
      type: FAILURE,
      tools: to(
        '`match.tool`, one rule for all tools, so they fail together; with several tools, the message names none',
      ),
      episode_rate: to(
        '`episode.of`: `episode_len` divided by the rate, rounded up; for 0, `percent: 0`; for 1, no `episode`',
      ),
      episode_len: to('`episode.tasks`, with `stickyBy: trace`'),
    }),
    serverDegradation,
  ),
}

export const MCP_CHAOS: Converter = {
  source: 'a fault plan of mcp-chaos',
  about:
    'Squall injects latency, schema drift and partial results, which mcp-chaos only records. All faults of a plan act on a call, in order. If two errors apply to a call, Squall sends the first error, while mcp-chaos sends the last error.',
  isRules: true,
  shapes: [PLAN, ...shapesOf(KINDS)],
  recognizes: (value) =>
    hasList(value, 'faults', ['type']) ||
    (isRecord(value) && 'seed' in value && Array.isArray(value['faults'])),
  convert: (report, value) => {
    const plan = new Entry(report, { value, path: [] }, PLAN)
    if (plan.has('seed')) {
      const seed = plan.number('seed', 0, { min: 0, max: Number.MAX_SAFE_INTEGER })
      report.file.seed = Math.trunc(seed)
      plan.changed('seed', 'the same seed samples different calls than in mcp-chaos')
    }
    for (const item of plan.items('faults')) convertKind(KINDS, typeOf(item.value), plan, item)
  },
}

/** mcp-chaos lets the server execute the call, and replaces its response. */
function failure(message: string): object {
  return { abort: { rpcError: { code: -32000, message }, at: 'response' } }
}

function aboutTools(tools: readonly string[]): object {
  return tools.length === 0 ? {} : { match: { tool: exactNames(tools) } }
}

function marked(
  fault: Entry<'tools' | 'probability'>,
  name: string,
  effect: Readonly<Record<string, object>>,
): void {
  fault.report.rule(fault, name, {
    ...aboutTools(fault.texts('tools')),
    ...sharedBy(fault.number('probability', 1, SHARE)),
    faults: [effect],
  })
}

function byName(fault: Entry<'tools'>, name: string, message: (tool: string) => string): void {
  const tools = fault.texts('tools')
  if (tools.length === 0) namesNoTool(fault)
  for (const tool of new Set(tools)) {
    const faults = [failure(message(tool))]
    fault.report.rule(fault, `${name}-${tool}`, { ...aboutTools([tool]), faults })
  }
}

function namesNoTool({ report, path }: Entry<'tools'>): void {
  report.note('left_out', 'names no tool, so mcp-chaos does nothing', path)
}

function burstError(fault: Entry<'rate' | 'burst_len' | 'tools'>): void {
  const length = Math.max(1, fault.number('burst_len', 8))
  const wanted = fault.number('rate', 0.02, SHARE)
  const highest = Math.floor(highestBurstRate(length) * 1000) / 1000
  const rate = wanted < 1 ? Math.min(wanted, highest) : 1
  if (rate !== wanted) {
    fault.changed('rate', `bursts of ${length} calls reach a rate of ${highest}, also in mcp-chaos`)
  }
  const tools = fault.texts('tools')
  if (tools.length > 0) {
    fault.changed('tools', 'bursts count the calls of these tools; in mcp-chaos, all calls')
  }
  fault.report.rule(fault, 'burst-error', {
    ...aboutTools(tools),
    burst: { rate, length },
    faults: [failure('injected burst error')],
  })
}

function serverDegradation(fault: Entry<'tools' | 'episode_rate' | 'episode_len'>): void {
  const tools = fault.texts('tools')
  if (tools.length === 0) return namesNoTool(fault)
  const rate = fault.number('episode_rate', 0.08, SHARE)
  const tasks = Math.max(1, Math.round(fault.number('episode_len', 20)))
  // Rounded up, so that no more tasks fail than in mcp-chaos.
  const of = Math.max(tasks + 1, Math.ceil(Number((tasks / rate).toFixed(6))))
  const isAtRandom = rate > 0 && rate < 1
  if (isAtRandom) {
    const key = fault.has('episode_rate') ? 'episode_rate' : 'tools'
    fault.changed(
      key,
      `episodes of ${tasks} tasks come every ${of} tasks; in mcp-chaos, at random with a share of ${Number((rate * 100).toPrecision(3))} %`,
    )
  }
  const hosted = tools.length === 1 ? `'${tools[0]}'` : 'the tool'
  fault.report.rule(fault, 'server-degradation', {
    ...aboutTools(tools),
    ...(rate === 0 && { percent: 0 }),
    ...(isAtRandom && { stickyBy: 'trace', episode: { tasks, of } }),
    faults: [failure(`server hosting ${hosted} degraded`)],
  })
}
