import { afterEach, expect, test } from 'vitest'
import type { FaultUse } from '../../src/filters/index.ts'
import { json, post, posted, request, result, Stage, stream } from '../accounting/stage.ts'
import { eventually } from '../support/eventually.ts'

let stage: Stage
afterEach(() => stage.close())

const CASES: readonly {
  readonly use: FaultUse
  readonly sees: string
  readonly outcome: string
  readonly executed: number
}[] = [
  {
    use: { fault: 'abort', config: { status: 503, at: 'request' } },
    sees: 'HTTP/1.1 503',
    outcome: 'http_error by injected',
    executed: 0,
  },
  {
    use: { fault: 'abort', config: { status: 503, at: 'response' } },
    sees: 'HTTP/1.1 503',
    outcome: 'http_error by injected',
    executed: 1,
  },
  {
    use: { fault: 'abort', config: { rpcError: { code: 1, message: 'no' }, at: 'response' } },
    sees: '"message":"no"',
    outcome: 'rpc_error by injected',
    executed: 1,
  },
  {
    use: { fault: 'abort', config: { toolError: 'no', at: 'response' } },
    sees: '"isError":true',
    outcome: 'tool_error by injected',
    executed: 1,
  },
  {
    use: { fault: 'reset', config: { at: 'request', how: 'rst' } },
    sees: '',
    outcome: 'reset by injected',
    executed: 0,
  },
  {
    use: { fault: 'reset', config: { at: 'response', how: 'rst' } },
    sees: '',
    outcome: 'reset by injected',
    executed: 1,
  },
  {
    use: { fault: 'amplify', config: { copies: 4, spacing: 1 } },
    sees: '"done 1"',
    outcome: 'ok',
    executed: 5,
  },
]

test.each(CASES.flatMap((each) => [false, true].map((streams) => ({ ...each, streams }))))(
  '$use.fault $use.config: the upstream executed the call $executed times, by a stream: $streams',
  async ({ use, sees, outcome, executed, streams }) => {
    let times = 0
    stage = await Stage.open(
      async (exchange) => {
        times++
        const responded = result(posted(exchange).id, { content: [], told: `done ${times}` })
        await exchange.send(streams ? stream(responded) : [json(responded)])
      },
      { rules: [{ name: 'r', match: { tool: 'echo' }, faults: [use] }] },
    )
    const client = await stage.exchange(post(request(7)))
    await eventually(() => (times >= executed ? undefined : `executed ${times} times`))
    await stage.ends({ [`tools/call echo: ${outcome}`]: 1 })
    expect(times).toBe(executed)
    expect(client.text).toContain(sees)
    // Only a response that no fault replaced shows the client that the call was executed.
    if (use.fault !== 'amplify') expect(client.text).not.toContain('done')
    else expect(client.text.match(/"done/g)).toHaveLength(1)
    if (use.fault === 'reset') expect(client.closeState).toBe('reset')
  },
)
