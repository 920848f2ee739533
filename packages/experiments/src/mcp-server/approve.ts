import { userInfo } from 'node:os'
import { durationText, plain } from '#base'
import type { MCP_APPROVE } from '../commands/mcp.ts'
import { isAgreed, needPerson } from '../cli/person.ts'
import { print, type RequestOf } from '#cli'
import { APPROVAL_MS, Proposals } from './proposals.ts'
import { DeniedError } from '../policy/denied-error.ts'

const FAILED = 1

/** Asks the person at the terminal to approve one run of a proposal; returns the exit code. */
export async function approveProposal({
  id,
  stateDirectory,
}: RequestOf<typeof MCP_APPROVE>): Promise<number> {
  const proposals = new Proposals(stateDirectory)
  try {
    const { summary, search } = await proposals.find(id)
    const [what, tool] =
      search === undefined ? ['this', 'run_experiment'] : ['this search', 'find_limit']
    await print(`${summary.map(plain).join('\n')}\n`)
    needPerson('approve a run', 'squall mcp approve')
    const within = durationText(APPROVAL_MS)
    if (!(await isAgreed(`Run ${what} once, within ${within}?`))) {
      await print('not approved\n')
      return FAILED
    }
    await proposals.approve(id, userInfo().username)
    await print(`approved ${id}: the agent may call ${tool} once, within ${within}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof DeniedError)) throw error
    process.stderr.write(`${plain(error.message)}\n`)
    return FAILED
  }
}
