import * as Type from 'typebox'
import { BLAST, blastOf, MAX_PLAN } from './checked-plan.ts'
import { type ControlTool, defineTool, DESTRUCTIVE, READ_ONLY, ROLLBACK } from './control-tool.ts'
import { RUN_IMPACT } from './impact-tool.ts'
import { FIND_LIMIT } from './limit-tool.ts'
import { DESCRIBE_PLAN, examplePlan } from './plan-help.ts'
import { proposePlan, RUN_OUTPUT, runProposal } from './run-proposal.ts'
import { closed, text } from './shapes.ts'

const PROPOSAL_ID = text('The ID of a proposal.', 20)

const PROPOSE = defineTool({
  name: 'propose_experiment',
  title: 'Propose an experiment',
  description:
    'Checks a plan against the policy and the sidecar, and returns the proposal ID, the digest and the largest possible effect. If the plan is not allowed, returns all reasons at once. Injects nothing.',
  annotations: READ_ONLY,
  input: closed({
    plan: text(
      `The plan as YAML or JSON, with inline rules, such as:\n${examplePlan({ targets: [], bounds: { sidecars: [] } })}describe_plan shows more keys.`,
      MAX_PLAN,
    ),
  }),
  output: Type.Object({
    id: Type.String(),
    digest: Type.String(),
    expiresAt: Type.String(),
    approval: text('Approval that a run needs.'),
    summary: Type.Array(Type.String()),
    blast: BLAST,
  }),
  run: async ({ plan: written }, { control }) => {
    const { kept, plan, policy } = await proposePlan(written, control)
    const { digest, summary, target } = kept
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
      entry: { proposal: kept.id, digest, target },
    }
  },
})

const RUN = defineTool({
  name: 'run_experiment',
  title: 'Run a proposed experiment',
  description:
    'Runs a proposal once, after a person approves it if the policy requires approval. Reports progress. Rolls back the rules if the call is cancelled or a limit of the plan fails.',
  annotations: DESTRUCTIVE,
  input: closed({ id: PROPOSAL_ID, digest: text('The digest of the proposal.', 100) }),
  output: RUN_OUTPUT,
  run: runProposal,
})

const STOP = defineTool({
  name: 'stop_experiment',
  title: 'Stop running experiments',
  description:
    'Stops one experiment of this server, or all experiments if no ID is given, and rolls back the rules. Always allowed.',
  annotations: ROLLBACK,
  input: closed({ id: Type.Optional(PROPOSAL_ID) }),
  output: Type.Object({
    stopped: Type.Array(Type.String(), { description: 'The IDs of the stopped proposals.' }),
  }),
  run: async ({ id: asked }, { control }) => {
    const stopped = await control.running.stop(asked)
    const ids = stopped.join(', ')
    return {
      text: ids === '' ? 'No experiment is running in this server.' : `Rolled back: ${ids}`,
      data: { stopped },
      ...(asked !== undefined && { entry: { proposal: asked } }),
    }
  },
})

/** The tools that propose, run and stop experiments. */
export const EXPERIMENT_TOOLS: readonly ControlTool[] = [
  DESCRIBE_PLAN,
  PROPOSE,
  RUN,
  RUN_IMPACT,
  FIND_LIMIT,
  STOP,
]
