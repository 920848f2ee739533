import { isInputRequiredResult } from '@modelcontextprotocol/server'
import * as Type from 'typebox'
import { fieldsOf } from '../../base/values.ts'
import { LoadError } from '../../lab/load/load-error.ts'
import { parseCondition } from '../../lab/search/condition.ts'
import { rangeText, type SearchPlan, searchRejection } from '../../lab/search/search-plan.ts'
import type { SearchResult } from '../../lab/search/search-result.ts'
import { searchText } from '../../lab/search/search-text.ts'
import { parseVariation } from '../../lab/search/variation.ts'
import { readYaml } from '../../rules/file/yaml-document.ts'
import type { OpenedSearch } from '../experiment/open-search.ts'
import { runSearch } from '../experiment/search.ts'
import { checkPlan, reasonsOf } from './checked-plan.ts'
import type { Control } from './control.ts'
import { type ControlTool, defineTool, DESTRUCTIVE } from './control-tool.ts'
import { DeniedError } from './denied-error.ts'
import { type Asked, progressOf, proposePlan, type RunSetup, takeApproved } from './run-proposal.ts'

const MAX_PLAN = 256 * 1024
const MAX_RUNS = 40
const MAX_MINUTES = 60
const MAX_CALLS = 1_000_000
/** As `squall experiment search` without options. */
const SETTINGS = {
  falseFailed: 0.05,
  falsePassed: 0.05,
  precision: 0.1,
  confidence: 0.95,
  runsAtOne: 2,
}

const maybeNumber = Type.Union([Type.Number(), Type.Null()])
const text = (description: string, maxLength = 200) => Type.String({ description, maxLength })

const INPUT = Type.Object(
  {
    plan: text('The plan as YAML or JSON, with its rules in the plan.', MAX_PLAN),
    vary: text(
      'The magnitude and its range: percent=1%..50%, delay=50ms..5s, or FAULT.PARAMETER=FROM..TO.',
    ),
    until: text('The condition under which a magnitude fails: success<99%, errors>5% or p95>2s.'),
    maxRuns: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_RUNS,
        description: `Most runs, each an experiment for perHour of the policy; ${MAX_RUNS} by default.`,
      }),
    ),
    maxMinutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_MINUTES,
        description: `Most time; ${MAX_MINUTES} by default.`,
      }),
    ),
    id: Type.Optional(text('After an approval at a terminal: the proposal.', 20)),
  },
  { additionalProperties: false },
)

type Input = Type.Static<typeof INPUT>

/** Returns the tool that searches the smallest magnitude that fails. */
export function limitTool(setup: RunSetup): ControlTool {
  const { control } = setup
  return defineTool({
    name: 'find_limit',
    title: 'Find the limit of a target',
    description:
      'Finds the smallest magnitude of a fault that makes a condition true, by many short runs of a plan with rollback between them. One approval is for all runs up to the strongest magnitude. Cancelling the call rolls back.',
    annotations: DESTRUCTIVE,
    input: INPUT,
    output: Type.Object({
      status: Type.Union([Type.Literal('done'), Type.Literal('approval_required')]),
      next: Type.Optional(Type.String({ description: 'How to continue.' })),
      id: Type.Optional(Type.String({ description: 'The proposal.' })),
      search: Type.Optional(Type.String({ description: 'The id of the search.' })),
      where: Type.Optional(
        Type.String({ description: 'within the range, below it (all fail), or above it.' }),
      ),
      limit: Type.Optional(maybeNumber),
      interval: Type.Optional(Type.Array(maybeNumber)),
      points: Type.Optional(
        Type.Array(
          Type.Object({
            magnitude: Type.Number(),
            calls: Type.Number(),
            failed: Type.Number(),
            decision: Type.String(),
          }),
        ),
      ),
      end: Type.Optional(Type.Object({ code: Type.String(), why: Type.String() })),
      failingPlan: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    }),
    run: async (input, call) => {
      const { inputResponses, requestState } = call.context.mcpReq
      const search = await searchOf(input, control)
      const answered = inputResponses === undefined ? undefined : requestState<Asked>()
      const asked = answered ?? (await proposed(input, search, control))
      const approved = await takeApproved(asked, call, setup)
      if (approved.kind === 'asked') {
        const { response } = approved
        if (isInputRequiredResult(response)) return response
        const { id } = asked
        const command = String(response.data['next'])
        return {
          text: `A person must approve this search: ${command}\nThen call find_limit again with the same input and id ${id}.`,
          data: { status: 'approval_required', next: command, id },
        }
      }
      const { proposal, checked, by: approvedBy } = approved
      if (checked.plan.digest !== (await checkPlan(rangeText(search), control)).plan.digest) {
        throw new DeniedError('the approval is for another search; call find_limit without an id')
      }
      const { id, digest, target } = proposal
      const about = { proposal: id, digest, target, approvedBy }
      await call.audit({ outcome: 'started', ...about })
      const result = await control.running.run({ id, target }, call.context.mcpReq.signal, (stop) =>
        runSearch(
          {
            ...control.access,
            production: control.production,
            maxRuns: input.maxRuns ?? MAX_RUNS,
            maxTimeMs: (input.maxMinutes ?? MAX_MINUTES) * 60_000,
            maxCalls: MAX_CALLS,
          },
          search,
          { policy: checked.policy, stop, onProgress: progressOf(call) ?? (() => {}) },
        ),
      )
      return {
        text: searchText(result, search.variation),
        data: shown(result),
        entry: { ...about, experiment: result.id, verdict: result.end.code },
      }
    },
  })
}

/** Reads the plan and the range. Throws a `DeniedError`. */
async function searchOf(
  { plan: written, vary, until }: Input,
  control: Control,
): Promise<OpenedSearch> {
  const { plan, kept } = await checkPlan(written, control)
  try {
    const search: OpenedSearch = {
      plan,
      kept,
      directory: kept.directory,
      written: fieldsOf(readYaml(written).value),
      variation: parseVariation(vary),
      condition: parseCondition(until),
      settings: { vary, until, ...SETTINGS },
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

/** Returns the named proposal, or else proposes the plan with the strongest magnitude. */
async function proposed(
  { id, vary, until }: Input,
  search: SearchPlan,
  control: Control,
): Promise<Asked> {
  if (id !== undefined) return control.proposals.find(id)
  const about = [`Search: ${vary}, until ${until}, in up to ${MAX_RUNS} runs`]
  const { kept } = await proposePlan(rangeText(search), control, about)
  return kept
}

function shown({ id: search, where, limit, interval, points, end, failingPlan }: SearchResult) {
  return {
    status: 'done',
    search,
    where,
    limit,
    interval,
    points: points.map(({ magnitude, calls, failed, decision }) => ({
      magnitude,
      calls,
      failed,
      decision,
    })),
    end,
    failingPlan,
  }
}
