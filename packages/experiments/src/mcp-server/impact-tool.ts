import * as Type from 'typebox'
import { API } from '#admin-api'
import { experimentMarkdown } from '../experiment/experiment-report.ts'
import type { Policy } from '#rules'
import { FIRST_STAGE, stagesTo } from '../experiment/stage-shares.ts'
import { type Control, type Asked, defineTool, DESTRUCTIVE } from './control-tool.ts'
import { DeniedError } from '../policy/denied-error.ts'
import { chosenSidecar, chosenTarget, SIDECAR, TARGET } from './open-sidecars.ts'
import { askedIn, proposePlan, RUN_OUTPUT, runProposal } from './run-proposal.ts'
import { closed, maybeInteger, maybeText, shaped } from './shapes.ts'

interface ScenarioSpec {
  /** Undefined for a scenario without a magnitude. */
  readonly magnitude?: { readonly unit: string; readonly usual: number; readonly most: number }
  readonly fault: (magnitude: number) => object
  /** True when each call with the fault fails. */
  readonly fails?: true
}

const MILLISECONDS = { unit: 'ms', usual: 500, most: 60_000 }

const SCENARIOS: Readonly<Record<string, ScenarioSpec>> = {
  latency: { magnitude: MILLISECONDS, fault: (ms) => ({ delay: { fixed: `${ms}ms` } }) },
  jitter: {
    magnitude: MILLISECONDS,
    fault: (ms) => ({ delay: { uniform: { min: '0ms', max: `${ms}ms` } } }),
  },
  bandwidth: {
    magnitude: { unit: 'bytes per second', usual: 4096, most: 1e9 },
    fault: (bytes) => ({ throttle: { rate: `${bytes}B` } }),
  },
  loss: { fault: () => ({ reset: {} }), fails: true },
  blackhole: { fault: () => ({ hang: {} }), fails: true },
  http_error: {
    magnitude: { unit: 'the HTTP status', usual: 503, most: 599 },
    fault: (status) => ({ abort: { status } }),
    fails: true,
  },
}

const MAGNITUDES = Object.entries(SCENARIOS)
  .flatMap(([name, { magnitude }]) =>
    magnitude === undefined ? [] : `${name}: ${magnitude.unit}, ${magnitude.usual} by default`,
  )
  .join('; ')

const INPUT = closed({
  scenario: Type.Unsafe<string>({
    type: 'string',
    enum: Object.keys(SCENARIOS),
    description: 'loss resets connections of calls; blackhole never responds to them.',
  }),
  magnitude: maybeInteger(1, 1e9, `${MAGNITUDES}.`),
  tools: Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: '^[^*?]+$' }), {
    minItems: 1,
    maxItems: 20,
    description: 'Names of the tools to call and to inject the fault into.',
  }),
  target: TARGET,
  sidecar: SIDECAR,
  percent: maybeInteger(
    1,
    100,
    'Percentage of calls to affect. Default: the first stage of the policy.',
  ),
  seconds: maybeInteger(2, 300, 'Duration of each stage in seconds. Default: 20.'),
  rate: maybeInteger(1, 1000, 'Calls per second. Default: 10.'),
  success: maybeInteger(
    1,
    100,
    'Minimum percentage of calls that must succeed. Default: 95, minus the percentage of calls that the fault makes fail.',
  ),
})

type Impact = Type.Static<typeof INPUT>

const FIGURES = Type.Object({
  label: Type.String(),
  measured: Type.Object({}, { description: 'Shares from 0 to 1 and latencies in ms.' }),
})

/** Runs one scenario with load in a call. */
export const RUN_IMPACT = defineTool({
  name: 'run_impact',
  title: 'Measure the impact of one fault',
  description:
    'Runs one scenario under load against a sidecar on this machine, from the first stage of the policy to the given percentage. Returns measurements before, during and after the fault, and a report. Requires the same approval as a plan. For pods or several faults, use propose_experiment.',
  annotations: DESTRUCTIVE,
  input: INPUT,
  output: Type.Object({
    ...RUN_OUTPUT.properties,
    id: maybeText('The ID of the proposal, for run_experiment.'),
    digest: Type.Optional(Type.String()),
    phases: Type.Optional(Type.Array(FIGURES)),
    summary: maybeText('The report as Markdown.'),
  }),
  run: async (impact, call) =>
    runProposal(
      await askedIn(call, () => propose(impact, call.control)),
      call,
      'run_impact',
      (result) => ({
        phases: [result.before, ...result.stages, result.after]
          .filter((phase) => phase !== null)
          .map((phase) => shaped(FIGURES, phase)),
        summary: experimentMarkdown(result),
      }),
    ),
})

async function propose(impact: Impact, control: Control): Promise<Asked> {
  const policy = control.limits.trusted()
  const { ask, setting: sidecar } = chosenSidecar(control, impact.sidecar)
  const { environment } = await ask(API.state)
  const plan = {
    ...planOf(impact, policy),
    target: { url: chosenTarget(control, impact.target).href, ...(environment && { environment }) },
    sidecar,
  }
  const { kept } = await proposePlan(JSON.stringify(plan, null, 1), control)
  return kept
}

/** Writes the plan of a scenario, but for its target and its sidecar. */
function planOf(impact: Impact, { firstStage, maxRate }: Policy): object {
  const { scenario, tools, seconds = 20, rate = Math.min(10, maxRate ?? 10) } = impact
  const { percent = Math.min(firstStage, FIRST_STAGE) } = impact
  const { magnitude: known, fault, fails } = SCENARIOS[scenario]!
  // The calls of the load are not repeated.
  const { success = fails ? Math.max(1, 95 - percent) : 95 } = impact
  const { magnitude = known?.usual ?? 0 } = impact
  if (known === undefined && impact.magnitude !== undefined) {
    throw new DeniedError(`${scenario} takes no magnitude; remove magnitude`)
  }
  if (known !== undefined && magnitude > known.most) {
    throw new DeniedError(
      `the magnitude of ${scenario} must be at most ${known.most} (${known.unit})`,
    )
  }
  return {
    name: `impact-${scenario.replace('_', '-')}`,
    steadyState: { errors: '5%', for: '3s', within: '30s' },
    rules: [{ name: 'impact', match: { tool: tools }, faults: [fault(magnitude)] }],
    stages: stagesTo(Math.min(percent, firstStage, FIRST_STAGE), percent).map(
      (share) => `${share}%`,
    ),
    hold: `${seconds}s`,
    load: { clients: 10, rate, tools, timeout: '5s' },
    // Above the share that the fault itself can make fail.
    abortOn: { errors: { limit: `${Math.min(99, percent + 25)}%`, for: '3s' } },
    slo: { success: `${success}%` },
  }
}
