import type { CampaignResult } from './campaign.ts'
import type { Difference } from './compare.ts'

const MOST = 8

/** A script that was played differently, with all that is needed to play it again. */
export function differenceText({ place, script, parts }: Difference): string {
  const clients = script.clients.map(
    (steps, index) =>
      `  client ${index}\n${steps.map((step) => `    ${JSON.stringify(step)}\n`).join('')}`,
  )
  const responses = script.responses.map((response) => `  answer ${JSON.stringify(response)}\n`)
  return `${script.about}: ${place}\n${clients.join('')}${responses.join('')}${parts.map((part) => `  ${part}\n`).join('')}`
}

/** Formats the result of a campaign for people. */
export function resultText(seed: number, result: CampaignResult): string {
  const { exchanges, scripts, differing, differences, unsteady, later } = result
  const first = differences.slice(0, MOST).map((found) => differenceText(found))
  const odd = unsteady.slice(0, MOST).map((found) => `unsteady: ${differenceText(found)}`)
  return (
    `SQUALL_TEST_SEED=${seed}: ${differing} of ${scripts} scripts (${exchanges} exchanges) ` +
    `were played differently, ${unsteady.length} once and not again, ${later} read later only\n${[...first, ...odd].join('\n')}`
  )
}
