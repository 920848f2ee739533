import { join } from 'node:path'
import * as Type from 'typebox'
import { API } from '#admin-api'
import { plain, shownUrl } from '#base'
import { BaselinesError } from '../next/baselines.ts'
import { whatNext } from '../next/what-next.ts'
import { BASELINES, plannedRanks } from '../operations/next.ts'
import { readPolicyFile } from '../cli/policy.ts'
import { defineTool, FOREIGN, READ_ONLY } from './control-tool.ts'
import { DeniedError } from './denied-error.ts'
import { chosenSidecar, chosenTarget, SIDECAR, TARGET } from './open-sidecars.ts'
import { closed, listOf, maybeInteger, text } from './shapes.ts'

const DEFAULT_TOP = 5

/** Ranks what to test next. */
export const WHAT_NEXT = defineTool({
  name: 'what_next',
  title: 'Rank what to test next',
  description:
    'Ranks tools and faults by traffic, earlier tests, changes and likeness to earlier failures; each with its reasons in numbers and a plan for propose_experiment.',
  annotations: READ_ONLY,
  input: closed({
    sidecar: SIDECAR,
    target: TARGET,
    top: maybeInteger(1, 20, 'How many; 5 by default.'),
  }),
  output: Type.Object({
    note: Type.String(),
    ranks: listOf({
      tool: Type.String(),
      question: Type.String(),
      asks: Type.String(),
      fault: Type.String(),
      score: Type.Number({ description: 'From 0 to 3.' }),
      reasons: Type.Array(Type.String()),
      plan: text('A plan as YAML.'),
    }),
  }),
  run: async ({ sidecar: asked, target: wanted, top = DEFAULT_TOP }, { control }) => {
    const policy = await readPolicyFile(control.policy)
    const { ask, setting: sidecar } = chosenSidecar(control, asked)
    const url = shownUrl(chosenTarget(control, wanted))
    const { environment } = await ask(API.state)
    const { experiments } = control.access
    const found = await whatNext({
      target: url,
      experiments,
      recent: await ask(API.history),
      baselines: join(experiments, BASELINES),
      learns: false,
    }).catch((error: unknown) => {
      if (!(error instanceof BaselinesError)) throw error
      throw new DeniedError(`the learned behaviour is unusable: ${error.message}`)
    })
    const ranks = plannedRanks(found, { url, environment, sidecar }, policy, top)
    if (ranks.length === 0) {
      throw new DeniedError(
        found.length === 0
          ? 'no tool was called in the last 15 minutes; make calls first'
          : 'the policy forbids all faults that could be tested, or all tools',
      )
    }
    const lines = ranks.map(({ tool, fault, score, asks, reasons }) =>
      plain(`${tool}, ${fault} (${score}): ${asks} ${reasons.join('; ')}`),
    )
    return { text: [FOREIGN, ...lines].join('\n'), data: { note: FOREIGN, ranks } }
  },
})
