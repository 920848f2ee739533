import {
  acceptedContent,
  inputRequired,
  type InputRequiredResult,
  type RequestStateCodec,
} from '@modelcontextprotocol/server'
import { shownUrl } from '#base'
import * as Type from 'typebox'
import { experimentProgress } from '../experiment/experiment-progress.ts'
import { noteLines } from '../experiment/experiment-report.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import type { Plan } from '../experiment/plan.ts'
import { RejectedError } from '../experiment/rejection.ts'
import type { Policy } from '../policy/policy-schema.ts'
import { checksOf, runHere, storeResult, withSidecars } from '../operations/run-here.ts'
import { type CheckedPlan, checkPlan, reasonsOf } from './checked-plan.ts'
import type { Control } from './control.ts'
import type { ControlCall, Outcome } from './control-tool.ts'
import { DeniedError } from './denied-error.ts'
import { summaryOf } from './plan-summary.ts'
import type { Proposal, ProposedSearch } from './proposals.ts'
import { maybeText, textOrNull } from './shapes.ts'

const PROGRESS_MS = 1_000

/** The output of tools that run a proposal. */
export const RUN_OUTPUT = {
  status: Type.Union([Type.Literal('done'), Type.Literal('approval_required')]),
  next: maybeText('How to continue.'),
  experiment: maybeText('The id for get_experiment.'),
  verdict: Type.Optional(Type.String()),
  stage: Type.Optional(textOrNull),
  code: Type.Optional(textOrNull),
  why: Type.Optional(Type.String()),
  restored: Type.Optional(Type.Boolean({ description: 'True when the rules were restored.' })),
}

/** The plan that a question to a person is about. */
export interface Asked {
  readonly id: string
  readonly digest: string
}

export interface RunSetup {
  readonly control: Control
  readonly states: RequestStateCodec<Asked>
  /** Returns more of the result for the client. */
  readonly show?: (result: ExperimentResult) => Readonly<Record<string, unknown>>
}

/** Checks the text of a plan and keeps it as a proposal. Throws a `DeniedError`. */
export async function proposePlan(
  written: string,
  control: Control,
  {
    search,
    about = [],
  }: { readonly search?: ProposedSearch; readonly about?: readonly string[] } = {},
): Promise<{ readonly kept: Proposal; readonly plan: Plan; readonly policy: Policy }> {
  const { plan, policy } = await checkPlan(written, control)
  const target = shownUrl(plan.target)
  const { digest } = plan
  const kept = await control.proposals.add({
    digest,
    plan: written,
    ...(search !== undefined && { search }),
    target,
    summary: [...summaryOf(plan), ...about],
  })
  return { kept, plan, policy }
}

/** A proposal that a person or the policy has approved, and that is used up. */
export interface Approved {
  readonly kind: 'approved'
  readonly proposal: Proposal
  readonly checked: CheckedPlan
  readonly by: string
}

/** The response to a call whose run is not approved. */
interface NotApproved {
  readonly kind: 'asked'
  readonly response: Outcome | InputRequiredResult
}

/**
 * Uses up an approved proposal, or returns what must happen before: a question to a person, or the
 * command that approves it. Throws a `DeniedError`.
 */
export async function takeApproved(
  asked: Asked,
  call: ControlCall,
  setup: RunSetup,
  tool: 'run_experiment' | 'find_limit' = 'run_experiment',
): Promise<Approved | NotApproved> {
  const { control } = setup
  const proposal = await control.proposals.find(asked.id)
  if (proposal.digest !== asked.digest) {
    throw new DeniedError(
      `the digest is not that of the proposal ${asked.id}; use the digest that propose_experiment returned`,
    )
  }
  const own = proposal.search === undefined ? 'run_experiment' : 'find_limit'
  if (own !== tool) throw new DeniedError(`the proposal ${asked.id} is for ${own}`)
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
  const by = await approve(proposal, checked.policy, call, setup)
  if (typeof by !== 'string') return { kind: 'asked', response: by }
  await control.proposals.take(proposal)
  return { kind: 'approved', proposal, checked, by }
}

/** Runs an approved proposal once, or returns what must happen before. Throws a `DeniedError`. */
export async function runProposal(
  asked: Asked,
  call: ControlCall,
  setup: RunSetup,
): Promise<Outcome | InputRequiredResult> {
  const approved = await takeApproved(asked, call, setup)
  if (approved.kind === 'asked') return approved.response
  return runApproved(approved, call, setup)
}

/** Returns who has approved the run, or else what must happen before it. */
async function approve(
  proposal: Proposal,
  { approval: wanted }: Policy,
  call: ControlCall,
  { control, states }: RunSetup,
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
  { proposal: { id, digest, target }, checked: { plan, kept }, by: approvedBy }: Approved,
  call: ControlCall,
  { control: { access, running, policy: file }, show = () => ({}) }: RunSetup,
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
      const limits = plan.policy && { policy: plan.policy, file }
      await storeResult(access.experiments, result, kept, { policy: limits })
      const entry = { ...about, experiment: result.id, verdict: result.verdict }
      const data = { ...outcomeOf(result), ...show(result) }
      return { text: noteLines(result).join('\n'), data, entry }
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
function progressTo(call: ControlCall): ReturnType<typeof experimentProgress> {
  const notify = progressOf(call)
  if (notify === undefined) return () => {}
  const write = (message: string): boolean => {
    notify(message)
    return true
  }
  return experimentProgress({ write }, {}, () => performance.now(), PROGRESS_MS)
}

/** Returns what sends progress to a client; undefined for one that did not ask for it. */
export function progressOf({ context }: ControlCall): ((message: string) => void) | undefined {
  const { _meta, notify } = context.mcpReq
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return undefined
  let progress = 0
  return (message) => {
    const params = { progressToken, progress: progress++, message: message.trimEnd() }
    // The client may be gone.
    notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}
