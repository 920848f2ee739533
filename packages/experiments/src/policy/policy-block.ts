import type { Policy } from '#rules'
import { durationText } from '#base'

/** The agents for whose instructions files a policy can be printed. */
export const AGENTS = ['claude', 'cursor'] as const

type Agent = (typeof AGENTS)[number]

const FRONT: Readonly<Record<Agent, string>> = {
  claude: '',
  cursor: '---\ndescription: Limits of chaos experiments\nalwaysApply: true\n---\n\n',
}

/** Returns the policy as a block of text for the instructions file of an agent. */
export function policyBlock(policy: Policy, agent: Agent): string {
  const { targets, environments, firstStage, maxPercent, maxDuration, perHour } = policy
  const lines = [
    `Test only ${targets.join(', ')}, in ${environments.join(' or ')}. Never name production anywhere.`,
    `Each plan has ${policy.require.map((each) => `\`${each}\``).join(', ')}, each with a numeric limit.`,
    `Begin with ${firstStage}% or less, skip no stage, and stay at ${maxPercent}% or less.`,
    `All stages together last at most ${durationText(maxDuration)}; at most ${perHour} experiments on a target in an hour.`,
    ...(policy.maxRate === undefined
      ? []
      : [`Give each load a \`rate\` of ${policy.maxRate}/s or less.`]),
    ...(policy.faults === undefined ? [] : [`Inject only ${policy.faults.join(', ')}.`]),
    ...(policy.neverTools === undefined
      ? []
      : [`Never touch the tools ${policy.neverTools.join(', ')}; name the tools of each rule.`]),
    'Check each plan first: `squall experiment validate --policy squall-policy.yaml PLAN`.',
    'When a plan is rejected, change the plan. Do not change the policy.',
  ]
  return `${FRONT[agent]}## Chaos experiments with Squall\n\n${lines.map((line) => `- ${line}\n`).join('')}`
}
