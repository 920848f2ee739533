import type { Policy } from '#rules'
import { resolve } from 'node:path'
import {
  acceptedContent,
  inputRequired,
  type InputRequiredResult,
} from '@modelcontextprotocol/server'
import { asInvoked, shellWord, shownUrl } from '#base'
import * as Type from 'typebox'
import { experimentProgress } from '../experiment/experiment-progress.ts'
import { noteLines } from '../experiment/experiment-report.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import type { Plan } from '../experiment/plan.ts'
import { RejectedError } from '../experiment/rejection.ts'
import { runHere, storeResult, withSidecars } from '../operations/run-here.ts'
import { type CheckedPlan, checkPlan, reasonsOf, summaryOf } from './checked-plan.ts'
import type { Control, Asked, ControlCall, Outcome } from './control-tool.ts'
import { DeniedError } from '../policy/denied-error.ts'
import type { Proposal, ProposedSearch } from './proposals.ts'
import { maybeText, shaped, textOrNull } from './shapes.ts'

const PROGRESS_MS = 1_000

/** The output of tools that run a proposal. */
export const RUN_OUTPUT = Type.Object({
  status: Type.Union([Type.Literal('done'), Type.Literal('approval_required')]),
  next: maybeText('How to continue.'),
  experiment: maybeText('The run ID, for get_experiment.'),
  verdict: Type.Optional(Type.String()),
  stage: Type.Optional(textOrNull),
  code: Type.Optional(textOrNull),
  why: Type.Optional(Type.String()),
  restored: Type.Optional(Type.Boolean({ description: 'Whether the rules were restored.' })),
})

/** Checks the text of a plan and keeps it as a proposal. Throws a `DeniedError`. */
export async function proposePlan(
  written: string,
  control: Control,
  search?: ProposedSearch,
  about: readonly string[] = [],
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
interface Approved {
  readonly proposal: Proposal
  readonly checked: CheckedPlan
  readonly by: string
  /** Makes the proposal available again, and throws the reason why no run has begun. */
  readonly notBegun: (reason: unknown) => Promise<never>
}

/** How each tool goes on after an approval at a terminal: the call, and what it needs. */
const AGAIN = {
  run_experiment: () => ['run_experiment again', {}],
  run_impact: ({ id, digest }) => [
    `run_experiment with id ${id} and digest ${digest}`,
    { id, digest },
  ],
  find_limit: ({ id }) => [`find_limit with id ${id} alone`, { id }],
} as const satisfies Readonly<Record<string, (asked: Asked) => readonly [string, object]>>

type RunTool = keyof typeof AGAIN

/** Returns the proposal that a person was asked about in this call, or else a new one. */
export async function askedIn(call: ControlCall, propose: () => Promise<Asked>): Promise<Asked> {
  // With the response of a person the client repeats the call.
  const { inputResponses, requestState } = call.context.mcpReq
  return (inputResponses === undefined ? undefined : requestState<Asked>()) ?? propose()
}

/**
 * Uses up an approved proposal and runs it, or returns what must happen before: a question to a
 * person, or the command that approves it. Throws a `DeniedError`.
 */
export async function runWhenApproved(
  tool: RunTool,
  asked: Asked,
  call: ControlCall,
  run: (approved: Approved) => Promise<Outcome>,
): Promise<Outcome | InputRequiredResult> {
  const { control } = call
  const proposal = await control.proposals.find(asked.id)
  if (proposal.digest !== asked.digest) {
    throw new DeniedError(
      `the digest does not match the proposal ${asked.id}; use the digest that propose_experiment returned`,
    )
  }
  const own = proposal.search === undefined ? 'run_experiment' : 'find_limit'
  if ((own === 'find_limit') !== (tool === 'find_limit')) {
    throw new DeniedError(`the proposal ${asked.id} is for ${own}`)
  }
  const busy = control.running.on(proposal.target)
  if (busy !== undefined) {
    throw new DeniedError(
      `EXPERIMENT_RUNNING: the experiment of the proposal ${busy} runs on ${proposal.target}; wait until it has finished, or call stop_experiment`,
    )
  }
  const checked = await checkPlan(proposal.plan, control)
  if (checked.plan.digest !== proposal.digest) {
    throw new DeniedError('the stored plan has changed; call propose_experiment again')
  }
  const by = await approve(proposal, checked.policy, call, tool)
  if (typeof by !== 'string') return by
  await control.proposals.take(proposal)
  const notBegun = async (reason: unknown): Promise<never> => {
    await control.proposals.giveBack(proposal).catch(() => undefined)
    throw reason
  }
  return run({ proposal, checked, by, notBegun })
}

/**
 * Runs an approved proposal once, or returns what must happen before; `show` returns more of the
 * result for the client. Throws a `DeniedError`.
 */
export function runProposal(
  asked: Asked,
  call: ControlCall,
  tool: RunTool = 'run_experiment',
  show: (result: ExperimentResult) => object = () => ({}),
): Promise<Outcome | InputRequiredResult> {
  return runWhenApproved(tool, asked, call, (approved) => runApproved(approved, call, show))
}

/** Returns who has approved the run, or else what must happen before it. */
async function approve(
  proposal: Proposal,
  { approval: wanted }: Policy,
  call: ControlCall,
  tool: RunTool,
): Promise<string | Outcome | InputRequiredResult> {
  const { control, states } = call
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
    await control.proposals.take(proposal, 'was declined by a person')
    throw new DeniedError('a person declined the run; propose another experiment')
  }
  const { target } = proposal
  const waiting = { outcome: 'approval_required', proposal: about, digest, target } as const
  if (wanted === 'ask' && call.canAsk) {
    const question = inputRequired.elicit({
      message: ['Run this experiment?', ...summary].join('\n'),
      requestedSchema: {
        type: 'object',
        properties: { approve: { type: 'boolean', title: 'Run this experiment' } },
        required: ['approve'],
      },
    })
    await call.audit(waiting)
    const requestState = await states.mint({ id: about, digest }, call.context)
    return inputRequired({ inputRequests: { approve: question }, requestState })
  }
  const { access, trust } = control
  const directory = resolve(access.stateDirectory)
  const more = directory === trust ? '' : ` --state-dir ${shellWord(directory)}`
  const next = asInvoked(`squall mcp approve ${about}${more}`)
  const [again, needs] = AGAIN[tool](proposal)
  return {
    text: `A person must approve this ${tool === 'find_limit' ? 'search' : 'run'}: ${next}\nThen call ${again}.`,
    data: { status: 'approval_required', next, ...needs },
    entry: waiting,
  }
}

async function runApproved(
  { proposal: { id, digest, target }, checked: { plan, kept }, by: approvedBy, notBegun }: Approved,
  call: ControlCall,
  show: (result: ExperimentResult) => object,
): Promise<Outcome> {
  const { access, running, policy: file } = call.control
  const started = { outcome: 'started', proposal: id, digest, target, approvedBy } as const
  // A run that cannot be logged does not begin.
  const onBegin = () => call.audit(started).catch(notBegun)
  const { signal } = call.context.mcpReq
  try {
    return await running.run({ id, target }, signal, async (stop) => {
      const result = await withSidecars(access, plan, (placed) =>
        runHere(access, { ...placed, stop, onBegin, onEvent: progressTo(call) }),
      )
      const limits = plan.policy && { policy: plan.policy, file }
      await storeResult(access.experiments, result, kept, { policy: limits })
      await call.audit({ outcome: 'done', experiment: result.id, verdict: result.verdict })
      const outcome = { ...result, status: 'done', experiment: result.id }
      const data = { ...shaped(RUN_OUTPUT, outcome), ...show(result) }
      return { text: noteLines(result).join('\n'), data, entry: 'written' }
    })
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    return notBegun(new DeniedError(...reasonsOf(error.rejections)))
  }
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
