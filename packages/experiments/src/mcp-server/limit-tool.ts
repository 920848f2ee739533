import * as Type from 'typebox'
import { durationText, plain, plainText } from '#base'
import { readFlags } from '#cli'
import { SEARCH_FLAGS, settingsOf } from '../commands/search.ts'
import { LoadError } from '../load/load-error.ts'
import { parseCondition } from '../search/condition.ts'
import { rangeTexts, searchRejection } from '../search/search-plan.ts'
import { searchText } from '../search/search-text.ts'
import { parseVariations } from '../search/variation.ts'
import { type OpenedSearch, searchPlan } from '../operations/open-search.ts'
import { runSearch } from '../operations/search.ts'
import { checkPlan, MAX_PLAN, reasonsOf } from './checked-plan.ts'
import { type Control, type Asked, defineTool, DESTRUCTIVE } from './control-tool.ts'
import { DeniedError } from '../policy/denied-error.ts'
import { freezePolicy } from '../policy/frozen-policy.ts'
import type { ProposedSearch } from './proposals.ts'
import { askedIn, progressOf, proposePlan, RUN_OUTPUT, runWhenApproved } from './run-proposal.ts'
import { closed, maybeInteger, maybeText, numberOrNull, shaped, textOrNull } from './shapes.ts'

/** For each parameter. */
const MAX_RUNS = 40
const MAX_MINUTES = 60
/** The options of `squall experiment search` by their defaults. */
const DEFAULTS = readFlags(SEARCH_FLAGS, new Map(), {})

const INPUT = closed({
  plan: maybeText('The plan as YAML or JSON, with inline rules.', MAX_PLAN),
  vary: maybeText(
    'The fault magnitude to vary and its range, from mildest to strongest: percent=1%..50%, delay=50ms..5s, or FAULT.PARAMETER=FROM..TO.',
    200,
  ),
  second: maybeText(
    'A second magnitude and its range, such as delay=50ms..5s. Finds the limit of the first magnitude at 5 or more values of the second, which takes several times as many runs.',
    200,
  ),
  until: maybeText(
    'The condition that makes a magnitude fail: success<99%, errors>5% or p95>2s.',
    200,
  ),
  maxRuns: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 2 * MAX_RUNS,
      description: `Maximum number of runs. Each run counts toward the policy's perHour; the total duration of all runs must not exceed its maxDuration. At most ${MAX_RUNS}, or ${2 * MAX_RUNS} with \`second\`.`,
    }),
  ),
  maxMinutes: maybeInteger(1, MAX_MINUTES, `Maximum duration in minutes. Default: ${MAX_MINUTES}.`),
  id: maybeText(
    'The ID of a proposal that was approved at a terminal. Cannot be combined with other parameters.',
    20,
  ),
})

type Input = Type.Static<typeof INPUT>

const POINT = Type.Object({
  magnitude: Type.Number(),
  second: Type.Optional(Type.Number()),
  calls: Type.Number(),
  failed: Type.Number(),
  decision: Type.String(),
})

const OUTPUT = Type.Object({
  status: RUN_OUTPUT.properties.status,
  next: RUN_OUTPUT.properties.next,
  id: maybeText('The ID of the proposal.'),
  search: maybeText('The ID of the search.'),
  where: maybeText(
    'Where the limit is: within the range, below it (all magnitudes fail) or above it.',
  ),
  limit: Type.Optional(numberOrNull()),
  interval: Type.Optional(Type.Array(numberOrNull())),
  boundary: Type.Optional(Type.Array(Type.Object({}))),
  points: Type.Optional(Type.Array(Type.Object({}))),
  end: Type.Optional(Type.Object({})),
  failingPlan: Type.Optional(textOrNull),
})

/** Searches the smallest magnitude that fails. */
export const FIND_LIMIT = defineTool({
  name: 'find_limit',
  title: 'Find the limit of a target',
  description:
    'Finds the smallest fault magnitude at which a condition becomes true, or the boundary for two magnitudes, in many short runs of a plan. Rolls back the rules after each run. One approval covers all runs, up to the largest magnitudes. Cancelling the call rolls back the rules.',
  annotations: DESTRUCTIVE,
  input: INPUT,
  output: OUTPUT,
  run: async (input, call) => {
    const { control, context } = call
    const asked = await askedIn(call, () => proposed(input, control))
    return runWhenApproved('find_limit', asked, call, async (approved) => {
      const { proposal, by: approvedBy, notBegun } = approved
      const { maxRuns, maxMinutes, ...asProposed } = proposal.search!
      const search = await searchOf(asProposed, control)
      const { id, digest, target } = proposal
      const started = { outcome: 'started', proposal: id, digest, target, approvedBy } as const
      await call.audit(started).catch(notBegun)
      const budget = { maxRuns, maxTimeMs: maxMinutes * 60_000, maxCalls: DEFAULTS.maxCalls }
      const access = { ...control.access, production: control.production, ...budget }
      const { signal } = context.mcpReq
      const result = await control.running.run({ id, target }, signal, async (stop) => {
        const ran = await runSearch(access, search, {
          stop,
          onProgress: progressOf(call) ?? (() => {}),
          // A person may change the policy meanwhile.
          beforeRun: async () => {
            const limits = await freezePolicy(control)
            await checkPlan(proposal.plan, { ...control, limits })
          },
        })
        await call.audit({ outcome: 'done', experiment: ran.id, verdict: ran.end.code })
        if (ran.runs.length === 0) await control.proposals.giveBack(proposal)
        return ran
      })
      return {
        text: plainText(searchText(result, search.variations)),
        data: {
          ...shaped(OUTPUT, { ...result, status: 'done', search: result.id, id: undefined }),
          points: result.points.map((point) => shaped(POINT, point)),
        },
        entry: 'written',
      }
    })
  },
})

/** Reads the plan and the range. Throws a `DeniedError`. */
async function searchOf(
  { plan: written, vary, until }: Pick<ProposedSearch, 'plan' | 'vary' | 'until'>,
  control: Control,
): Promise<OpenedSearch> {
  const checked = await checkPlan(written, control)
  try {
    const search: OpenedSearch = {
      ...searchPlan(checked, parseVariations(vary), parseCondition(until)),
      kept: checked.kept,
      settings: settingsOf(DEFAULTS, vary, until),
      rejections: [],
    }
    const rejection = searchRejection(search)
    if (rejection !== undefined) throw new DeniedError(...reasonsOf([rejection]))
    return search
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    throw new DeniedError(error.message)
  }
}

/** Returns the named proposal, or else proposes the plan with the strongest magnitudes. */
async function proposed(input: Input, control: Control): Promise<Asked> {
  const { id, plan, vary: first, second, until, maxMinutes = MAX_MINUTES } = input
  if (id !== undefined) {
    if (Object.keys(input).length === 1) return control.proposals.find(id)
    throw new DeniedError(
      'id cannot be combined with other parameters; call find_limit with id only',
    )
  }
  if (plan === undefined || first === undefined || until === undefined) {
    throw new DeniedError('pass plan, vary and until, or the id of an approved proposal')
  }
  const vary = second === undefined ? [first] : [first, second]
  const search = await searchOf({ plan, vary, until }, control)
  const { maxDuration } = search.plan.policy!
  const most = Math.min(MAX_RUNS * vary.length, Math.floor(maxDuration / search.plan.file.hold))
  const { maxRuns = most } = input
  if (maxRuns > most || most === 0) {
    throw new DeniedError(
      `POLICY: ${maxRuns} runs of ${durationText(search.plan.file.hold)} last longer than maxDuration; use at most ${most} runs, or a shorter hold`,
    )
  }
  const proposedSearch = { plan, vary, until, maxRuns, maxMinutes }
  const range = `${vary.join(' and ')}, until ${search.condition.text}`
  const about = [plain(`Search: ${range}; up to ${maxRuns} runs in up to ${maxMinutes} minutes`)]
  const [strongest, ...others] = rangeTexts(search)
  for (const other of others) await checkPlan(other, control)
  const { kept } = await proposePlan(strongest, control, proposedSearch, about)
  return kept
}
