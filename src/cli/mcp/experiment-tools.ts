import {
  acceptedContent,
  inputRequired,
  type InputRequiredResult,
  type RequestStateCodec,
} from '@modelcontextprotocol/server'
import * as Type from 'typebox'
import { experimentProgress } from '../../lab/experiment/experiment-progress.ts'
import { noteLines } from '../../lab/experiment/experiment-report.ts'
import type { ExperimentResult } from '../../lab/experiment/experiment-result.ts'
import { RejectedError } from '../../lab/experiment/rejection.ts'
import type { Policy } from '../../lab/policy/policy-schema.ts'
import { checksOf, runHere, storeResult, withSidecars } from '../experiment/run-here.ts'
import { type CheckedPlan, checkPlan, reasonsOf } from './checked-plan.ts'
import type { Control } from './control.ts'
import {
  type ControlCall,
  type ControlTool,
  defineTool,
  DESTRUCTIVE,
  type Outcome,
  READ_ONLY,
  ROLLBACK,
} from './control-tool.ts'
import { blastOf, summaryOf } from './plan-summary.ts'
import type { Proposal } from './proposals.ts'
import { DeniedError } from './denied-error.ts'

const MAX_PLAN = 256 * 1024
const PROGRESS_MS = 1_000

const text = (description: string, maxLength = 200) => Type.String({ description, maxLength })
const PROPOSAL_ID = text('The id of a proposal.', 20)
const maybeNumber = (description: string) =>
  Type.Union([Type.Number(), Type.Null()], { description })
const maybeText = Type.Union([Type.String(), Type.Null()])

/** The plan that a question to a person is about. */
export interface Asked {
  readonly id: string
  readonly digest: string
}

/** Returns the tools that propose, run and stop experiments. */
export function experimentTools(
  control: Control,
  states: RequestStateCodec<Asked>,
): readonly ControlTool[] {
  return [proposeTool(control), runTool(control, states), stopTool(control)]
}

function proposeTool(control: Control): ControlTool {
  return defineTool({
    name: 'propose_experiment',
    title: 'Propose an experiment',
    description:
      'Checks a plan against the policy and the sidecar, and returns its id, its digest and the largest effect that it can have. A plan that is not allowed is denied with all reasons at once. Injects nothing.',
    annotations: READ_ONLY,
    input: Type.Object(
      {
        plan: text(
          'The plan as YAML or JSON, with its rules in the plan; squall://schemas/plan is its JSON Schema.',
          MAX_PLAN,
        ),
      },
      { additionalProperties: false },
    ),
    output: Type.Object({
      id: Type.String(),
      digest: Type.String(),
      expiresAt: Type.String(),
      approval: Type.String({ description: 'Approval that a run needs.' }),
      summary: Type.Array(Type.String()),
      blast: Type.Object({
        maxPercent: Type.Number({ description: 'Maximum share of the calls, or of the pods.' }),
        durationMs: Type.Number({ description: 'Duration of all stages.' }),
        calls: maybeNumber('Calls of the load in all stages; null without a rate.'),
        sampled: maybeNumber('Maximum of calls with faults; null without a rate.'),
      }),
    }),
    run: async ({ plan: written }) => {
      const { plan, policy } = await checkPlan(written, control)
      const { digest, target } = plan
      const summary = summaryOf(plan)
      const shown = `${target.origin}${target.pathname}`
      const kept = await control.proposals.add({ digest, plan: written, target: shown, summary })
      const next = `Call run_experiment with id ${kept.id} and digest ${digest}.`
      return {
        text: [...summary, next].join('\n'),
        data: {
          id: kept.id,
          digest,
          expiresAt: new Date(kept.expiresAt).toISOString(),
          approval: policy.approval,
          summary,
          blast: blastOf(plan),
        },
        entry: { proposal: kept.id, digest, target: shown },
      }
    },
  })
}

function runTool(control: Control, states: RequestStateCodec<Asked>): ControlTool {
  return defineTool({
    name: 'run_experiment',
    title: 'Run a proposed experiment',
    description:
      'Runs a proposal once, after its approval by a person where the policy requires that. Reports progress. When the call is cancelled, or a limit of the plan fails, the rules are rolled back.',
    annotations: DESTRUCTIVE,
    input: Type.Object(
      { id: PROPOSAL_ID, digest: text('The digest of the proposal.', 100) },
      { additionalProperties: false },
    ),
    output: Type.Object({
      status: Type.Union([Type.Literal('done'), Type.Literal('approval_required')]),
      next: Type.Optional(Type.String({ description: 'How to continue.' })),
      experiment: Type.Optional(Type.String({ description: 'The id for get_experiment.' })),
      verdict: Type.Optional(Type.String()),
      stage: Type.Optional(maybeText),
      code: Type.Optional(maybeText),
      why: Type.Optional(Type.String()),
      restored: Type.Optional(Type.Boolean({ description: 'True when the rules were restored.' })),
    }),
    run: async (asked, call) => {
      const proposal = await control.proposals.find(asked.id)
      if (proposal.digest !== asked.digest) {
        throw new DeniedError(
          `the digest is not that of the proposal ${asked.id}; use the digest that propose_experiment returned`,
        )
      }
      const busy = control.running.on(proposal.target)
      if (busy !== undefined) {
        throw new DeniedError(
          `EXPERIMENT_RUNNING: the experiment of the proposal ${busy} runs on ${proposal.target}; wait until it has ended, or call stop_experiment`,
        )
      }
      const checked = await checkPlan(proposal.plan, control)
      if (checked.plan.digest !== proposal.digest) {
        throw new DeniedError('the stored plan has changed; call propose_experiment again')
      }
      const approval = await approve(proposal, checked.policy, { control, call, states })
      if (typeof approval !== 'string') return approval
      await control.proposals.take(proposal)
      return runApproved(proposal, checked, approval, control, call)
    },
  })
}

/** Returns who has approved the run, or else what must happen before it. */
async function approve(
  proposal: Proposal,
  { approval: wanted }: Policy,
  {
    control,
    call,
    states,
  }: { control: Control; call: ControlCall; states: RequestStateCodec<Asked> },
): Promise<string | Outcome | InputRequiredResult> {
  const { id: about, digest, summary } = proposal
  if (wanted === 'none') return 'the policy'
  const given = await control.proposals.approvalOf(proposal)
  if (given !== undefined) return given.by
  const { mcpReq } = call.context
  if (wanted === 'ask' && mcpReq.inputResponses !== undefined) {
    const state = mcpReq.requestState<Asked>()
    if (state?.id !== about || state.digest !== digest) {
      throw new DeniedError('the response is about another proposal; call run_experiment again')
    }
    const answer = acceptedContent(mcpReq.inputResponses, 'approve')
    if (answer?.['approve'] === true) return `a question of ${call.client}`
    await control.proposals.take(proposal)
    throw new DeniedError('a person declined the run; propose another experiment')
  }
  if (wanted === 'ask' && call.canAsk) {
    const question = inputRequired.elicit({
      message: ['Run this experiment?', ...summary].join('\n'),
      requestedSchema: {
        type: 'object',
        properties: { approve: { type: 'boolean', title: 'Run this experiment' } },
        required: ['approve'],
      },
    })
    const requestState = await states.mint({ id: about, digest }, call.context)
    return inputRequired({ inputRequests: { approve: question }, requestState })
  }
  const next = `squall approve ${about}`
  return {
    text: `A person must approve this run: ${next}\nThen call run_experiment again.`,
    data: { status: 'approval_required', next },
    entry: { outcome: 'approval_required', proposal: about, digest, target: proposal.target },
  }
}

async function runApproved(
  { id, digest, target }: Proposal,
  { plan, kept }: CheckedPlan,
  approvedBy: string,
  { access, running }: Control,
  call: ControlCall,
): Promise<Outcome> {
  const about = { proposal: id, digest, target, approvedBy }
  // A run that cannot be logged does not begin.
  await call.audit({ outcome: 'started', ...about })
  const { signal } = call.context.mcpReq
  try {
    return await running.run({ id, target }, signal, async (stop) => {
      const result = await withSidecars(access, plan, async (sidecars) => {
        const checks = await checksOf(access, plan, () => {})
        return runHere(access, { plan, sidecars, ...checks, stop, onEvent: progressTo(call) })
      })
      await storeResult(access.experiments, result, kept)
      const entry = { ...about, experiment: result.id, verdict: result.verdict }
      return { text: noteLines(result).join('\n'), data: outcomeOf(result), entry }
    })
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    throw new DeniedError(...reasonsOf(error.rejections))
  }
}

function outcomeOf({ id: experiment, verdict, stage, code, why, restored }: ExperimentResult) {
  return { status: 'done', experiment, verdict, stage, code, why, restored }
}

/** Returns what reports the events of an experiment to a client that asked for progress. */
function progressTo({ context }: ControlCall): ReturnType<typeof experimentProgress> {
  const { _meta, notify } = context.mcpReq
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return () => {}
  let progress = 0
  const write = (message: string): boolean => {
    const params = { progressToken, progress: progress++, message: message.trimEnd() }
    // The client may be gone.
    notify({ method: 'notifications/progress', params }).catch(() => {})
    return true
  }
  return experimentProgress({ write }, {}, () => performance.now(), PROGRESS_MS)
}

function stopTool({ running }: Control): ControlTool {
  return defineTool({
    name: 'stop_experiment',
    title: 'Stop running experiments',
    description:
      'Ends an experiment of this server and rolls its rules back; without an id, all of them. Always allowed.',
    annotations: ROLLBACK,
    input: Type.Object({ id: Type.Optional(PROPOSAL_ID) }, { additionalProperties: false }),
    output: Type.Object({
      stopped: Type.Array(Type.String(), { description: 'The ids of the proposals.' }),
    }),
    run: async ({ id: asked }) => {
      const stopped = await running.stop(asked)
      const said = stopped.length === 0 ? 'Nothing runs in this server.' : 'Rolled back'
      return {
        text: stopped.length === 0 ? said : `${said}: ${stopped.join(', ')}`,
        data: { stopped },
        ...(asked !== undefined && { entry: { proposal: asked } }),
      }
    },
  })
}
